/* signalbox/service/endpoint.h - a translator (send-http, register) whose endpoints have changed: another region, a
 * proxy that moved. Since 1.1. */
#ifndef SIGNALBOX_SERVICE_ENDPOINT_H
#define SIGNALBOX_SERVICE_ENDPOINT_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_ENDPOINT_HOST "sbx.endpoint-host/1"
typedef struct sbx_endpoint_host {
  uint32_t struct_size, reserved;
  /* endpoint() would answer differently now. The host asks it again, soon, for each app that it sends to. Requests that
   * are under way are answered where they are; all others go to the new endpoint. If endpoint() fails, or
   * SBX_ENDPOINT_REST differs, the previous answer stays in use, and the log says why. Each call costs new connections:
   * not for every delivery. After a secret has changed the host asks by itself.
   * Statuses: OK; STOPPING. Thread: [any], from the start of start() on. Since 1.1. */
  sbx_status (*changed)(const struct sbx_host *host);
} sbx_endpoint_host;

#endif
