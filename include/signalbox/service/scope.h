/* signalbox/service/scope.h - the services of role calls on a thread of the plugin's own. Since 1.1. */
#ifndef SIGNALBOX_SERVICE_SCOPE_H
#define SIGNALBOX_SERVICE_SCOPE_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_SCOPE "sbx.scope/1"
typedef struct sbx_scope {
  uint32_t struct_size, reserved;
  /* Calls body(context) on this thread, once, and returns after it. Inside, what is bound to a role call may be
   * used: sbx.json/1, get() of sbx.credential/1, sbx.fit/1, sbx.certificate/1. What they hand out lives until body
   * returns. A stop waits for it. May be nested.
   * Statuses: OK; STOPPING (body was not called). Thread: [any]. Since 1.1. */
  sbx_status (*enter)(const struct sbx_host *host, void (*body)(void *context), void *context);
} sbx_scope;

#endif
