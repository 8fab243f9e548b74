#include "buffer.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static void wipe(char *bytes, size_t len) {
  if (bytes) OPENSSL_cleanse(bytes, len);
  free(bytes);
}

static bool make_room(smtp_buffer *out, size_t len) {
  if (out->has_failed) return false;
  if (len <= out->room - out->len) return true;
  char *bytes = NULL;
  size_t room = out->room ? out->room : 256;
  while (room < SIZE_MAX / 4 && room - out->len < len) room *= 2;
  if (room - out->len >= len) bytes = malloc(room);
  if (!bytes) {
    out->has_failed = true;
    return false;
  }
  if (out->len) memcpy(bytes, out->bytes, out->len);
  wipe(out->bytes, out->len);  /* realloc() could leave a copy behind */
  out->bytes = bytes;
  out->room = room;
  return true;
}

void smtp_put(smtp_buffer *out, const char *bytes, size_t len) {
  if (!len || !make_room(out, len)) return;
  memcpy(out->bytes + out->len, bytes, len);
  out->len += len;
}

void smtp_put_byte(smtp_buffer *out, char byte) { smtp_put(out, &byte, 1); }

void smtp_put_text(smtp_buffer *out, const char *text) { smtp_put(out, text, strlen(text)); }

void smtp_put_str(smtp_buffer *out, sbx_str text) { smtp_put(out, text.ptr, text.ptr ? text.len : 0); }

sbx_str smtp_buffer_str(const smtp_buffer *buffer) { return (sbx_str){buffer->bytes, buffer->len}; }

void smtp_buffer_free(smtp_buffer *buffer) {
  wipe(buffer->bytes, buffer->len);
  *buffer = (smtp_buffer){0};
}
