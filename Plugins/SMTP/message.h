/* message.h - notifications as messages: RFC 5322 and MIME, and addresses. */
#ifndef SMTP_MESSAGE_H
#define SMTP_MESSAGE_H
#include <signalbox/kit.h>
#include <stdbool.h>

/* Longest message, in bytes; longer ones are not sent. */
#define SMTP_MESSAGE_MAX (1u << 20)

struct smtp_config;

/* address.c: a valid address goes into a command unchanged, so nothing is valid that could end the command or
 * begin another argument. */
typedef enum smtp_address {
  SMTP_ADDRESS_BAD,
  SMTP_ADDRESS_ASCII,
  SMTP_ADDRESS_UTF8,  /* needs a server that offers SMTPUTF8 */
} smtp_address;

/* local@domain: a dot-atom of at most 64 bytes, and a name of at most 253; both may have letters
 * beyond ASCII. Quoted local parts and address literals are legal elsewhere, and refused here. */
smtp_address smtp_address_check(sbx_str text);

/* Length in bytes of the UTF-8 character at p; 0 if it is malformed or a control character beyond ASCII. */
size_t smtp_utf8_length(const char *p, size_t left);

/* A person in a header: "Support <support@example.com>", or only an address. */
typedef struct smtp_mailbox {
  char *name, *address;  /* name may be empty; address is NULL if unset */
  bool is_utf8;          /* the address is not ASCII */
} smtp_mailbox;

/* False if the text has neither form or holds control characters, or memory is short. */
bool smtp_mailbox_parse(sbx_str text, smtp_mailbox *out);
void smtp_mailbox_free(smtp_mailbox *mailbox);

/* message.c: writes the message; NULL, or why it cannot be sent: a reason from the list in README.md. Parses
 * JSON, so call it only during a call of the host. The address must be validated already. */
const char *smtp_put_message(sbx_out *out, const sbx_host *host, const struct smtp_config *config,
                             const sbx_delivery *delivery, uint64_t unix_ms);

/* text.c: one MIME part: its fields, an empty line, its encoded body. `type` is "text/plain" or "text/html".
 * With may_be_7bit, text of short ASCII lines is not encoded; otherwise it is quoted-printable or base64, in
 * which no boundary that holds "=_" can appear. */
void smtp_put_part(sbx_out *out, const char *type, sbx_str text, bool may_be_7bit);

/* An unstructured header value, after `column` bytes already on the line. Whatever is in the
 * text, the output has no line breaks except folds, and no control characters. */
void smtp_put_header_text(sbx_out *out, sbx_str text, size_t column);

/* A display name, as a quoted string or as encoded words. */
void smtp_put_phrase(sbx_out *out, sbx_str text, size_t column);

#endif
