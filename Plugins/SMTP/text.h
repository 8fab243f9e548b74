/* text.h - text as mail wants it: RFC 2045 bodies, RFC 2047 headers. */
#ifndef SMTP_TEXT_H
#define SMTP_TEXT_H
#include "buffer.h"

/* Text with CRLF as its line ends, one at its end, and without control characters but tabs. */
void smtp_put_canonical(smtp_buffer *out, sbx_str text);

/* One MIME part: its fields, an empty line, its encoded body. `type` is "text/plain" or "text/html".
 * With may_be_7bit plain short lines go as they are, else everything is quoted-printable or base64, in
 * which no boundary that holds "=_" can appear. */
void smtp_put_part(smtp_buffer *out, const char *type, sbx_str text, bool may_be_7bit);

/* The value of a header for people, behind `column` bytes that the line has already. Whatever is in the
 * text, what is put has no line break but folds, and no control character. */
void smtp_put_header_text(smtp_buffer *out, sbx_str text, size_t column);

/* A name before an address: as a quoted string or as encoded words. */
void smtp_put_phrase(smtp_buffer *out, sbx_str text, size_t column);

/* Base64 in one line. */
void smtp_put_base64(smtp_buffer *out, sbx_str bytes);

#endif
