/* address.h - validates e-mail addresses. A valid address goes into a command unchanged, so
 * nothing is valid that could end the command or begin another argument. */
#ifndef SMTP_ADDRESS_H
#define SMTP_ADDRESS_H
#include "buffer.h"

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

#endif
