/* signalbox/service/credential.h - a cached access token or JWT: one refresh at a time, ahead of its
 * expiry, shared by all connections of the instance. */
#ifndef SIGNALBOX_SERVICE_CREDENTIAL_H
#define SIGNALBOX_SERVICE_CREDENTIAL_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_CREDENTIAL "sbx.credential/1"
typedef struct sbx_credential {
  uint32_t struct_size, reserved;
  /* Declares one, in start(). The host calls `refresh` right after start(), when its time has come,
   * and after an outcome AUTH, but never sooner than min_interval_ms after the last success.
   * `refresh` signs, may use sbx.http/1 and wait, and ends with set(); when it fails the host tries
   * again with backoff and keeps serving the old value until it expires.
   * refresh: Statuses: OK, UNREACHABLE, TIMEOUT (try again), AUTH, INVALID (stop, wrong set-up).
   * refresh: Thread: [control]. State: [started]. Statuses of define: OK, INVALID. Thread: [control]. */
  sbx_status (*define)(const struct sbx_host *host, sbx_str name, uint64_t min_interval_ms,
                       sbx_status (*refresh)(sbx_instance *instance, sbx_str name, sbx_error *error));
  /* The new value; wanted again at refresh_unix_ms, worthless after expires_unix_ms (0: never).
   * Statuses: OK, NOT_FOUND (not defined). Thread: [control], inside refresh. */
  sbx_status (*set)(const struct sbx_host *host, sbx_str name, sbx_str value, uint64_t refresh_unix_ms,
                    uint64_t expires_unix_ms);
  /* The current value; it lives until the role call returns. AGAIN: there is none yet (or no more);
   * return AGAIN from prepare() and the host offers the batch again when there is.
   * Statuses: OK, AGAIN, NOT_FOUND, AUTH (refresh failed for good). Thread: the role call's. */
  sbx_status (*get)(const struct sbx_host *host, sbx_str name, sbx_str *value);
} sbx_credential;

#endif
