/* signalbox/service/kv.h - a small durable store, one namespace per instance. */
#ifndef SIGNALBOX_SERVICE_KV_H
#define SIGNALBOX_SERVICE_KV_H
#include "../types.h"
struct sbx_host;

/* status: OK, NOT_FOUND, UNREACHABLE (the store failed). value is borrowed. Thread: [worker]. */
typedef void (*sbx_kv_done)(void *context, sbx_status status, sbx_str value);

/* status: OK, UNREACHABLE. `keys` are borrowed; fewer than asked for: there are no more. Thread: [worker]. */
typedef void (*sbx_kv_listed)(void *context, sbx_status status, const sbx_str *keys, size_t n);

/* status: OK; INVALID (what is stored is no counter, or the sum has no room; it is left alone), UNREACHABLE. `sum` is the
 * counter after the addition. Thread: [worker]. */
typedef void (*sbx_kv_added)(void *context, sbx_status status, int64_t sum);

#define SBX_SVC_KV "sbx.kv/1"
typedef struct sbx_kv_store {
  uint32_t struct_size, reserved;
  /* done is called exactly once after OK and never after another status. Keys up to 512 bytes,
   * values up to 64 KiB. Statuses: OK, TOO_LARGE, AGAIN (queue full), STOPPING. Thread: [any]. */
  sbx_status (*get)(const struct sbx_host *host, sbx_str key, sbx_kv_done done, void *context);
  /* Durable when done reports OK. ttl_ms 0: for ever. done may be NULL. */
  sbx_status (*put)(const struct sbx_host *host, sbx_str key, sbx_str value, uint64_t ttl_ms, sbx_kv_done done,
                    void *context);
  sbx_status (*remove)(const struct sbx_host *host, sbx_str key, sbx_kv_done done, void *context);
  /* Up to `most` of the keys that begin with `prefix` and come behind `after`, in the order of their bytes. Both may be empty.
   * For the next page, `after` is the last key of this one. Statuses: as get(), INVALID (`most` is 0 or over 256, a
   * NULL done). Thread: [any]. Since 1.1. */
  sbx_status (*list)(const struct sbx_host *host, sbx_str prefix, sbx_str after, uint32_t most, sbx_kv_listed done,
                     void *context);
  /* Compare and set: stores *value, or removes the key if value is NULL, provided that *expected is stored now; a NULL expected:
   * provided that nothing is. It is one step, also among several gateways with one database. done gets OK and what is stored
   * then; AGAIN and what is stored, if that is something else; NOT_FOUND, if a value was expected and none is stored. Statuses and
   * bounds: as put(). Thread: [any]. Since 1.1. */
  sbx_status (*replace)(const struct sbx_host *host, sbx_str key, const sbx_str *expected, const sbx_str *value,
                        uint64_t ttl_ms, sbx_kv_done done, void *context);
  /* Adds to a counter, in one step as replace(). The first addition makes it, with ttl_ms as in put(); later ones leave its end
   * as it is, so a count per day needs one key and 24 hours. It is stored as decimal text, for get() and put(). Statuses:
   * as put(). Thread: [any]. Since 1.1. */
  sbx_status (*add)(const struct sbx_host *host, sbx_str key, int64_t amount, uint64_t ttl_ms, sbx_kv_added done,
                    void *context);
} sbx_kv_store;

#endif
