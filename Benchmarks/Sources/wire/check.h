/* What a push request must look like. */
#ifndef SINK_CHECK_H
#define SINK_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request while it is being received. */
struct push {
  bool is_post, has_path, has_topic, has_type, has_authorization, is_braced;
  bool is_text, is_escaped;
  int depth;
  size_t body_bytes;
  /* From the token: its time of creation (0: unknown), and its number. */
  uint64_t sent_ns, number;
};

void check_field(struct push *push, const uint8_t *name, size_t name_length, const uint8_t *value, size_t length);
void check_body(struct push *push, const uint8_t *bytes, size_t length);
/* NULL if the request is valid; otherwise the fault. */
const char *check_end(const struct push *push);
#endif
