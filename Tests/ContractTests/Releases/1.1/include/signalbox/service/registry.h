/* signalbox/service/registry.h - the devices the gateway knows. A change that belongs to a request
 * goes through sbx_ingest_sink.change, so that it is committed with it. */
#ifndef SIGNALBOX_SERVICE_REGISTRY_H
#define SIGNALBOX_SERVICE_REGISTRY_H
#include "../model.h"
struct sbx_host;

/* Devices, newest first, borrowed; their attributes say whether one is "online" ("true", "false").
 * status: OK (n may be 0), UNREACHABLE. Thread: [worker]. */
typedef void (*sbx_registry_done)(void *context, sbx_status status, const sbx_device *devices, size_t n, size_t stride);

#define SBX_SVC_REGISTRY "sbx.registry/1"
typedef struct sbx_registry {
  uint32_t struct_size, reserved;
  /* All devices of a user in an app (empty: in every app). done is called exactly once after OK and
   * never after another status. Statuses: OK, INVALID, AGAIN (queue full), STOPPING. Thread: [any]. */
  sbx_status (*devices)(const struct sbx_host *host, sbx_str app, sbx_str user, sbx_registry_done done, void *context);
  /* The device with this token, if known: n is 0 or 1. As above. */
  sbx_status (*find)(const struct sbx_host *host, sbx_str app, sbx_str token, sbx_registry_done done, void *context);
  /* A device was added or removed, outside of a request; durable when done reports OK (n is 0). Statuses: as
   * above. Thread: [any]. */
  sbx_status (*change)(const struct sbx_host *host, const sbx_change *change, sbx_registry_done done, void *context);
} sbx_registry;

#endif
