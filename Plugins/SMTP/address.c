/* address.c - validates e-mail addresses. */
#include "message.h"

size_t smtp_utf8_length(const char *p, size_t left) {
  const unsigned char *s = (const unsigned char *)p;
  size_t length = left ? sbx_utf8_length(s, left) : 0;
  return length == 2 && s[0] == 0xC2 && s[1] < 0xA0 ? 0 : length;  /* C1 controls */
}

static bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_local(char c) { return is_alphanumeric(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c)); }

static bool is_domain(char c) { return is_alphanumeric(c) || c == '-'; }

/* Words of allowed characters, separated by single dots; sets *is_utf8 if any is not ASCII. */
static bool is_dotted(sbx_str text, size_t word_max, bool (*is_allowed)(char), bool *is_utf8) {
  size_t word = 0;
  for (size_t k = 0; k < text.len;) {
    size_t len = smtp_utf8_length(text.ptr + k, text.len - k);
    if (!len) return false;
    if (text.ptr[k] == '.') {
      if (!word) return false;
      word = 0;
    } else {
      if (len == 1 && !is_allowed(text.ptr[k])) return false;
      *is_utf8 |= len > 1;
      word += len;
      if (word > word_max) return false;
    }
    k += len;
  }
  return word > 0;
}

smtp_address smtp_address_check(sbx_str text) {
  const char *at = text.len ? memchr(text.ptr, '@', text.len) : NULL;
  if (!at || text.len > 254) return SMTP_ADDRESS_BAD;
  sbx_str local = {text.ptr, (size_t)(at - text.ptr)};
  sbx_str domain = {at + 1, text.len - local.len - 1};
  bool is_utf8 = false;
  if (local.len > 64 || !is_dotted(local, 64, is_local, &is_utf8)) return SMTP_ADDRESS_BAD;
  if (domain.len > 253 || !is_dotted(domain, 63, is_domain, &is_utf8)) return SMTP_ADDRESS_BAD;
  for (size_t k = 0; k < domain.len; k++) {
    bool is_edge = k == 0 || k + 1 == domain.len || domain.ptr[k - 1] == '.' || domain.ptr[k + 1] == '.';
    if (domain.ptr[k] == '-' && is_edge) return SMTP_ADDRESS_BAD;
  }
  return is_utf8 ? SMTP_ADDRESS_UTF8 : SMTP_ADDRESS_ASCII;
}

static sbx_str trimmed(sbx_str text) {
  while (text.len && text.ptr[0] == ' ') text.ptr++, text.len--;
  while (text.len && text.ptr[text.len - 1] == ' ') text.len--;
  return text;
}

bool smtp_mailbox_parse(sbx_str text, smtp_mailbox *out) {
  sbx_str name = {"", 0}, address = trimmed(text);
  for (size_t k = 0; k < address.len;) {
    size_t len = smtp_utf8_length(address.ptr + k, address.len - k);
    if (!len || (unsigned char)address.ptr[k] < ' ' || address.ptr[k] == 0x7F) return false;
    k += len;
  }
  const char *open = address.len ? memchr(address.ptr, '<', address.len) : NULL;
  if (open) {
    if (address.ptr[address.len - 1] != '>') return false;
    name = trimmed((sbx_str){address.ptr, (size_t)(open - address.ptr)});
    address = (sbx_str){open + 1, address.len - (size_t)(open - address.ptr) - 2};
    if (name.len >= 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"')
      name = (sbx_str){name.ptr + 1, name.len - 2};
  }
  smtp_address kind = smtp_address_check(address);
  if (kind == SMTP_ADDRESS_BAD || name.len > 200) return false;
  *out = (smtp_mailbox){strndup(name.ptr, name.len), strndup(address.ptr, address.len), kind == SMTP_ADDRESS_UTF8};
  if (out->name && out->address) return true;
  smtp_mailbox_free(out);
  return false;
}

void smtp_mailbox_free(smtp_mailbox *mailbox) {
  free(mailbox->name);
  free(mailbox->address);
  *mailbox = (smtp_mailbox){0};
}
