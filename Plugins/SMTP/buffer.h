/* buffer.h - a growing byte buffer. */
#ifndef SMTP_BUFFER_H
#define SMTP_BUFFER_H
#include <signalbox/types.h>
#include <stdbool.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

/* Initialize with zeros. Once memory has run out, nothing more is appended and has_failed stays set, so
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

/* Its content, borrowed. */
sbx_str smtp_buffer_str(const smtp_buffer *buffer);

/* Frees the bytes; overwrites them first, because they may hold a password. */
void smtp_buffer_free(smtp_buffer *buffer);

#endif
