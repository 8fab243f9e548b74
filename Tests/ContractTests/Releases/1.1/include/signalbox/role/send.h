/* signalbox/role/send.h - deliveries over a transport of the plugin's own: SMTP, MQTT, a vendor's
 * SDK. Prefer send-http where HTTP suffices: it brings pools, deadlines and backoff. */
#ifndef SIGNALBOX_ROLE_SEND_H
#define SIGNALBOX_ROLE_SEND_H
#include "../model.h"

struct sbx_host;

/* How results come back. Owner: the host. */
#define SBX_SVC_SEND_HOST "sbx.send-host/1"
typedef struct sbx_send_host {
  uint32_t struct_size, reserved;
  /* Any order, any grouping, exactly one outcome per delivery taken, also from inside submit(). The
   * deliveries named may be freed before this returns. A second outcome for one delivery is
   * misbehaviour and ignored. Thread: [any]. Since 1.0. */
  void (*complete)(const struct sbx_host *host, const sbx_outcome *outcomes, size_t n, size_t stride);
  /* After a short submit(): there is room for so many again. Thread: [any]. Since 1.0. */
  void (*credit)(const struct sbx_host *host, size_t room);
} sbx_send_host;

#define SBX_ROLE_SEND "sbx.role.send/1"
typedef struct sbx_send {
  uint32_t struct_size;
  uint32_t max_batch;  /* most deliveries per call; 0: the host's choice; never over 512 */
  /* Takes a prefix of the batch (*taken) and returns; never waits for the network. A short prefix is
   * backpressure: the host waits for credit(). Deliveries taken stay valid until their outcome is
   * in or stop() returned, whichever is first. One without an outcome 60 s after it was taken is
   * counted against the plugin and retried; an outcome that comes later than that is ignored.
   * Statuses: OK, AGAIN (nothing taken), INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*submit)(sbx_instance *instance, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                       size_t *taken, sbx_error *error);
} sbx_send;

#endif
