/* signalbox/role/send_http.h - a translator: deliveries in, HTTP/2 requests out; responses in,
 * outcomes out. */
#ifndef SIGNALBOX_ROLE_SEND_HTTP_H
#define SIGNALBOX_ROLE_SEND_HTTP_H
#include "http.h"

#define SBX_ROLE_SEND_HTTP "sbx.role.send-http/1"
typedef struct sbx_send_http {
  uint32_t struct_size;
  uint32_t max_batch;  /* most deliveries or responses per call; 0: the host's choice; never over 512 */
  /* Where to connect for an app (empty: the default app). Asked once per app after start() and again
   * after a reload; connections of two apps are never shared, unless both endpoints have SBX_ENDPOINT_SHARED.
   * Statuses: OK, NOT_FOUND (no such app), INVALID. Thread: [control]. State: [started]. Since 1.0. */
  sbx_status (*endpoint)(sbx_instance *instance, sbx_str app, sbx_endpoint *endpoint, sbx_error *error);
  /* Renders deliveries of one app. Every delivery ends up in exactly one request or one settle();
   * one that is forgotten is misbehaviour and retried. AGAIN (a credential is on its way): nothing
   * was taken, the host offers the batch again.
   * Statuses: OK, AGAIN, INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*prepare)(sbx_instance *instance, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                        sbx_http_sink *sink, sbx_error *error);
  /* Settles every item of every response, or requests again for it. A forgotten item is misbehaviour
   * and retried; if its response is 2xx it counts as delivered, since the provider would get it twice.
   * Statuses: OK, INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*classify)(sbx_instance *instance, const sbx_http_response *responses, size_t n, size_t stride,
                         sbx_http_sink *sink, sbx_error *error);
} sbx_send_http;

#endif
