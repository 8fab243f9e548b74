/* signalbox/plugin.h - the contract between Signalbox and its plugins, major 1.
 *
 * A plugin is a shared library that exports one function, sbx_plugin_entry_v1. Everything else
 * is reached from it: the plugin's roles and the host's services are tables of functions, found
 * by a string id. A breaking change is a new id ("sbx.http/2") beside the old one.
 *
 * Plugins are translators: bytes in, events or requests out. The host owns sockets, TLS, keys,
 * timers and retries; a plugin links nothing of the host. It leaves alone: signals, working
 * folder, locale, environment, umask, fork, exit, stdout. It lets nothing unwind out of a call. A host puts signal
 * handlers back that are changed in the entry, create() or start(), and names the plugin.
 * It is never unloaded. Everything passed can be copied and sent as a message, so that the same
 * file can run in a process of its own.
 *
 * Life of an instance: entry -> create -> start -> roles ... -> stop -> destroy. */
#ifndef SIGNALBOX_PLUGIN_H
#define SIGNALBOX_PLUGIN_H
#include "types.h"
#include "model.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The host as one instance sees it; logs, metrics, secrets and keys are scoped by it.
 * Owner: the host. Lifetime: from create() until destroy() returns; the one given to the entry
 * only during that call. */
typedef struct sbx_host {
  uint32_t struct_size, abi_major, abi_minor, reserved;
  void *state;            /* private to the host */
  const char *name;       /* "signalbox" or the embedding program */
  const char *version;    /* of that program */
  const char *instance;   /* the name in gateway.yaml; "" during the entry */
  /* The table of a service ("sbx.log/1"), or NULL: not offered here. A plugin that cannot do
   * without a service names it in `needs` and is then never created without it.
   * Owner: the host. Lifetime: the table lives as long as the process. Thread: [any]. Since 1.0. */
  const void *(*service)(const struct sbx_host *host, const char *id);
} sbx_host;

#define SBX_F_SERIAL 1ull  /* the host must not call [worker] functions of one instance concurrently */

/* What the library is. Owner: the plugin. Lifetime: static. All text is static too. */
typedef struct sbx_plugin {
  uint32_t struct_size, abi_major, abi_minor;  /* what it was compiled with */
  uint32_t needs_minor;       /* the lowest minor of a host it runs on */
  uint64_t flags;             /* SBX_F_*; the host refuses a bit it does not know */
  const char *id;             /* "com.example.apns": unique, never changes */
  const char *version;        /* "1.4.2" */
  const char *summary;        /* one line for `signalbox plugins list` */
  const char *const *roles;   /* NULL-terminated role ids, at most 64; a host ignores those that it does not know */
  const char *const *needs;   /* NULL-terminated service ids without which it cannot run, at most 64, or NULL */
  const char *config_schema;  /* JSON Schema (docs/plugin-config-schema.md), or NULL: takes no config */

  /* Makes an instance from its part of gateway.yaml as JSON, already valid under config_schema.
   * Where the schema says "format": "secret", config holds the secret's NAME for sbx.secrets/1
   * and sbx.sign/1, not its value. No network, no threads yet.
   * Owner: *instance is the plugin's until destroy(). config is borrowed.
   * Statuses: OK, INVALID, UNSUPPORTED, INTERNAL; with error->message.
   * Thread: [control]. State: [none]. Since 1.0. */
  sbx_status (*create)(const sbx_host *host, sbx_str config, sbx_instance **instance, sbx_error *error);

  /* The table of one of `roles`, or NULL. The same answer each time.
   * Owner: the plugin; static. Thread: [any]. State: [always]. Since 1.0. */
  const void *(*role)(const char *role_id);

  /* Ready to work: define credentials, start own threads. Role functions are called only after it.
   * Called once. When it fails it has ended what it began, and destroy() is next, without stop().
   * May be NULL. Statuses: OK, INVALID, UNREACHABLE, INTERNAL. Thread: [control]. State: [created]. Since 1.0. */
  sbx_status (*start)(sbx_instance *instance, sbx_error *error);

  /* Complete or give back everything before the deadline (CLOCK_MONOTONIC). When it returns OK no
   * thread, timer or callback of the instance runs any more. May be NULL: nothing to stop.
   * Called once, and only after a start() that returned OK.
   * Statuses: OK, or TIMEOUT: the host leaks the instance and never calls it again. So it does if this or destroy()
   * does not return soon after the deadline.
   * Thread: [control]. State: [started]. Since 1.0. */
  sbx_status (*stop)(sbx_instance *instance, uint64_t deadline_monotonic_ns, sbx_error *error);

  /* Frees the instance; also one that was never started, and after a start() that failed.
   * Nothing of it is called afterwards. It calls no service; `host` may still be read.
   * Thread: [control]. State: [created] or [stopped]. Since 1.0. */
  void (*destroy)(sbx_instance *instance);
} sbx_plugin;

/* The one exported symbol. Quick, without side effects, and callable more than once: inspectors
 * call it too. NULL is a refusal, with the reason in error->message. `host` may offer no services.
 * Owner: the plugin; static. Thread: [control]. State: [always]. Since 1.0. */
typedef const sbx_plugin *(*sbx_entry_fn)(const sbx_host *host, sbx_error *error);
SBX_EXPORT const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error);

#ifdef __cplusplus
}
#endif

#include "role/build.h"
#include "role/filter.h"
#include "role/ingest.h"
#include "role/observe.h"
#include "role/register.h"
#include "role/send.h"
#include "role/send_http.h"
#include "role/source.h"
#include "service/certificate.h"
#include "service/clock.h"
#include "service/credential.h"
#include "service/crypto.h"
#include "service/endpoint.h"
#include "service/fit.h"
#include "service/http.h"
#include "service/json.h"
#include "service/kv.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/registry.h"
#include "service/scope.h"
#include "service/secrets.h"
#include "service/sign.h"
#include "service/timer.h"

#endif
