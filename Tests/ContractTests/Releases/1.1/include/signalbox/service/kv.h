/* signalbox/service/kv.h - a small durable store, one namespace per instance. */
#ifndef SIGNALBOX_SERVICE_KV_H
#define SIGNALBOX_SERVICE_KV_H
#include "../types.h"
struct sbx_host;

/* status: OK, NOT_FOUND, UNREACHABLE (the store failed). value is borrowed. Thread: [worker]. */
typedef void (*sbx_kv_done)(void *context, sbx_status status, sbx_str value);

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
} sbx_kv_store;

#endif
