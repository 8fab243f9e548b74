/* text.h - text encodings for mail: RFC 2045 bodies, RFC 2047 headers. */
#ifndef SMTP_TEXT_H
#define SMTP_TEXT_H
#include "buffer.h"

/* Text with CRLF line ends, also at its end, and without control characters except tabs. */
void smtp_put_canonical(smtp_buffer *out, sbx_str text);

/* One MIME part: its fields, an empty line, its encoded body. `type` is "text/plain" or "text/html".
 * With may_be_7bit, text of short ASCII lines is not encoded; otherwise it is quoted-printable or base64, in
 * which no boundary that holds "=_" can appear. */
void smtp_put_part(smtp_buffer *out, const char *type, sbx_str text, bool may_be_7bit);

/* An unstructured header value, after `column` bytes already on the line. Whatever is in the
 * text, the output has no line breaks except folds, and no control characters. */
void smtp_put_header_text(smtp_buffer *out, sbx_str text, size_t column);

/* A display name, as a quoted string or as encoded words. */
void smtp_put_phrase(smtp_buffer *out, sbx_str text, size_t column);

/* Base64 on one line. */
void smtp_put_base64(smtp_buffer *out, sbx_str bytes);

#endif
