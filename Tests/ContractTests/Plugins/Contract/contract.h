/* contract.h - a plugin with every role. It copies its input into its output, so that a field
 * that a host passes wrongly shows up. */
#ifndef CONTRACT_H
#define CONTRACT_H
#include "next.h"
#include <stdio.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
#define ITEMS_MAX 16

struct sbx_instance {
  const sbx_host *host;
  const sbx_log *log;
  const sbx_clock *clock;
  char *config;
  unsigned handled;
};

/* Text made by printf; it lives in `room`. */
#define TEXT(room, ...) \
  ((sbx_str){room, (size_t)snprintf(room, sizeof room, __VA_ARGS__)})
#define ARG(s) (int)(s).len, (s).len ? (s).ptr : ""

static inline int is(sbx_str text, const char *word) {
  return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}
static inline sbx_str value_of(const sbx_kv *list, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (is(list[i].key, key)) return list[i].value;
  return (sbx_str){NULL, 0};
}
static inline sbx_status fail(sbx_error *error, sbx_status status, const char *words) {
  SEE(error);
  error->status = status;
  snprintf(error->message, sizeof error->message, "%s", words);
  return status;
}

const sbx_ingest *ingest_role(void);
const sbx_build *build_role(void);
const sbx_send_http *send_role(void);
const sbx_send *deliver_role(void);
const sbx_register *register_role(void);

#endif
