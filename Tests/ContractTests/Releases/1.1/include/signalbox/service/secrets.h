/* signalbox/service/secrets.h - the values behind config fields of format "secret". Prefer
 * sbx.sign/1, with which a key never leaves the host. */
#ifndef SIGNALBOX_SERVICE_SECRETS_H
#define SIGNALBOX_SERVICE_SECRETS_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_SECRETS "sbx.secrets/1"
typedef struct sbx_secrets {
  uint32_t struct_size, reserved;
  /* Copies a secret of this instance out. *len: capacity in, length out.
   * Statuses: OK, NOT_FOUND, TOO_LARGE (*len holds the required size). Thread: [any]. */
  sbx_status (*get)(const struct sbx_host *host, sbx_str name, void *buffer, size_t *len);
  /* Calls fn(context) on a [worker] thread after the secret has changed (a file was replaced).
   * Ends with stop(). Statuses: OK, NOT_FOUND. Thread: [control]. */
  sbx_status (*watch)(const struct sbx_host *host, sbx_str name, void (*fn)(void *context), void *context);
} sbx_secrets;

#endif
