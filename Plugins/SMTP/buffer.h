/* buffer.h - bytes that grow. */
#ifndef SMTP_BUFFER_H
#define SMTP_BUFFER_H
#include <signalbox/types.h>
#include <stdbool.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

/* Zero it to begin. Once memory has run out nothing is appended any more and has_failed stays set, so
 * that only the end of a rendering needs a check. */
typedef struct smtp_buffer {
  char *bytes;
  size_t len, room;
  bool has_failed;
} smtp_buffer;

void smtp_put(smtp_buffer *out, const char *bytes, size_t len);
void smtp_put_byte(smtp_buffer *out, char byte);
void smtp_put_text(smtp_buffer *out, const char *text);
void smtp_put_str(smtp_buffer *out, sbx_str text);

/* What it holds, borrowed. */
sbx_str smtp_buffer_str(const smtp_buffer *buffer);

/* Frees the bytes; what was in them is overwritten first, since it may have been a password. */
void smtp_buffer_free(smtp_buffer *buffer);

#endif
