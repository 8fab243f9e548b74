/* smtp_address.c - addresses and mailboxes of the config and of devices. What is valid can end no command. */
#include "fuzz.h"

#include "../../Plugins/SMTP/address.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sbx_str text = {(const char *)data, size};
  smtp_mailbox mailbox = {0};
  smtp_address kind = smtp_address_check(text);
  if (kind != SMTP_ADDRESS_BAD) {
    REQUIRE(size <= 254, "too long");
    for (size_t k = 0; k < size; k++)
      REQUIRE(data[k] > ' ' && data[k] != 0x7F && !strchr("<>,;:\"\\()[]", data[k]), "a character that ends it");
    for (size_t k = 0; k < size && kind == SMTP_ADDRESS_ASCII; k++) REQUIRE(data[k] < 0x80, "it is not ASCII");
  }
  if (smtp_mailbox_parse(text, &mailbox)) {
    sbx_str address = {mailbox.address, strlen(mailbox.address)};
    REQUIRE(smtp_address_check(address) != SMTP_ADDRESS_BAD, "a mailbox with a bad address");
    for (const char *p = mailbox.name; *p; p++)
      REQUIRE((unsigned char)*p >= ' ' && *p != 0x7F, "a control character in a name");
    smtp_mailbox_free(&mailbox);
  }
  return 0;
}
