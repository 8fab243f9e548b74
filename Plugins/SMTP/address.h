/* address.h - which text is an e-mail address. What passes here is put into a command as it is, so
 * nothing passes that could end the command or begin another argument. */
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

/* How many bytes the UTF-8 character at p has; 0: it is none, or a control character beyond ASCII. */
size_t smtp_utf8_length(const char *p, size_t left);

/* Somebody who is named in a header: "Support <support@example.com>", or an address alone. */
typedef struct smtp_mailbox {
  char *name, *address;  /* name may be empty; address is NULL if there is nobody */
  bool is_utf8;          /* of the address */
} smtp_mailbox;

/* False: it is neither form, or holds control characters, or there is no memory. */
bool smtp_mailbox_parse(sbx_str text, smtp_mailbox *out);
void smtp_mailbox_free(smtp_mailbox *mailbox);

#endif
