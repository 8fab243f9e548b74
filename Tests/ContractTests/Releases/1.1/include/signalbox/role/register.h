/* signalbox/role/register.h - the translator over device changes: tells a source's system what
 * happened to its devices, many per request. */
#ifndef SIGNALBOX_ROLE_REGISTER_H
#define SIGNALBOX_ROLE_REGISTER_H
#include "http.h"

#define SBX_ROLE_REGISTER "sbx.role.register/1"
typedef struct sbx_register {
  uint32_t struct_size;
  uint32_t max_batch;  /* most changes per call (100 for a bulk API of 100); 0: the host's choice; never over 512 */
  uint64_t kinds;      /* bit n: wants changes of kind n: 1 << SBX_CHANGE_INVALID */
  /* Where to connect; `app` as in send-http. These requests go through the REST client (HTTP/1.1 or 2).
   * Statuses: OK, NOT_FOUND, INVALID. Thread: [control]. State: [started]. Since 1.0. */
  sbx_status (*endpoint)(sbx_instance *instance, sbx_str app, sbx_endpoint *endpoint, sbx_error *error);
  /* As in send-http, over changes: item ids are sbx_change.id. A change that does not concern this
   * source is settled DELIVERED with reason "ignored".
   * Statuses: OK, AGAIN, INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*prepare)(sbx_instance *instance, sbx_str app, const sbx_change *changes, size_t n, size_t stride,
                        sbx_http_sink *sink, sbx_error *error);
  /* As in send-http. Statuses: OK, INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*classify)(sbx_instance *instance, const sbx_http_response *responses, size_t n, size_t stride,
                         sbx_http_sink *sink, sbx_error *error);
} sbx_register;

#endif
