/* signalbox/gateway.h - the gateway inside another program: libsignalbox.so, major 1.
 *
 * A host makes a gateway from the same gateway.yaml that the signalbox program reads, submits events
 * or hands in HTTP requests of its own server, and gets the result of each delivery. It grows by
 * the rules of types.h: fields and functions are appended, `struct_size` says what the caller knows.
 *
 * THREADS. Every function may be called from any thread, several at once, but not from inside a
 * callback of the same gateway. Functions that say "waits" block the caller. Callbacks come on threads
 * of the gateway, several at once, and must return soon; what they are given is borrowed until then.
 * `done` of a function that waits is called before the function returns, on any thread.
 *
 * STATE. A gateway is made, runs from sbx_gateway_start() on, and ends with sbx_gateway_destroy(), after which its
 * pointer is invalid: no other call may be under way then. Functions that may return STOPPING need one that runs.
 * sbx_gateway_add_plugin() and sbx_gateway_start() need one that does not. All others take any.
 *
 * MANNERS. The library installs no signal handler, never exits, prints nothing and keeps no state
 * outside of its gateways, of which a process may have several (each with a data folder of its own).
 * Two effects on the process remain: plugin libraries, once loaded, stay; and SIGPIPE is
 * ignored if it had its default action when the first gateway was started. Fork before, not after: in a child that is
 * forked later a gateway does not run (STOPPING), and destroying it there does nothing.
 *
 * Link with `pkg-config --cflags --libs signalbox`. Since 1.0 unless a comment says otherwise. */
#ifndef SIGNALBOX_GATEWAY_H
#define SIGNALBOX_GATEWAY_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbx_gateway sbx_gateway;

/* The result of one delivery. */
#define SBX_RESULT_DELIVERED 1u  /* the provider took it */
#define SBX_RESULT_RETRIED   2u  /* it failed and will be tried again */
#define SBX_RESULT_FAILED    3u  /* it failed for good and is a dead letter */
typedef struct sbx_delivery_result {
  uint32_t struct_size;
  uint32_t result;         /* SBX_RESULT_* */
  uint32_t attempt;        /* 1, 2, ... */
  uint32_t provider_code;  /* HTTP status or the provider's own number; 0: there was no answer */
  uint64_t event_id;       /* as sbx_submission named it */
  sbx_str subject, source; /* of the event */
  sbx_str route, sender;   /* names in gateway.yaml; route is empty for a report about a device */
  sbx_str app, user;       /* of the device; may be empty */
  sbx_str token;           /* of the device; not to be logged */
  sbx_str stable_id;       /* a UUID, the same on every attempt */
  sbx_str reason;          /* "ok", "throttled", "BadDeviceToken": from a closed list of the sender */
  sbx_str provider_id;     /* the provider's id of the message; may be empty */
} sbx_delivery_result;

/* How a gateway is made. Zero it, set struct_size, and fill what is needed; all of it is copied. */
typedef struct sbx_gateway_options {
  uint32_t struct_size, reserved;
  sbx_str config_file;     /* path of gateway.yaml; empty: config_text has it */
  sbx_str config_text;     /* the text of a gateway.yaml */
  sbx_str config_folder;   /* where relative paths of config_text begin; empty: the working folder */
  sbx_str data_folder;     /* instead of gateway.data; empty: as the configuration says */
  sbx_str plugin_folders;  /* searched first, ":" between them; then SIGNALBOX_PLUGINS, then beside the library */
  sbx_str program;         /* what plugins see as sbx_host.name; empty: "signalbox" */
  sbx_str program_version;
  void *context;           /* given to the callbacks */
  /* A line of the log; NULL: lines are dropped. Never holds a token, a secret or a body. */
  void (*log)(void *context, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n);  /* SBX_LOG_* */
  /* Results of deliveries; NULL: not reported. */
  void (*results)(void *context, const sbx_delivery_result *results, size_t n, size_t stride);
  /* Lines below this level do not reach `log`, but records of changes (the field `logger` is "audit") do:
   * SBX_LOG_* + 1. 0: as gateway.log.level says, also after a reload. It can change while the gateway runs:
   * POST /log-level with sbx_gateway_admin(). Since 1.1 */
  uint32_t log_level, reserved_2;
} sbx_gateway_options;

/* The result of one submitted event. Treat a value you do not know as ACCEPTED. Since 1.1 */
#define SBX_SUBMITTED_ACCEPTED  1u  /* on disk, and it has deliveries */
#define SBX_SUBMITTED_DUPLICATE 2u  /* dropped: its dedupe key was seen before */
#define SBX_SUBMITTED_UNROUTED  3u  /* on disk for traces: no route takes it */
#define SBX_SUBMITTED_UNREACHED 4u  /* likewise: routes take it, and none has a recipient to send to */
#define SBX_SUBMITTED_FAILED    5u  /* likewise: a builder failed on it, as the log says, and it has no delivery */
typedef struct sbx_submitted {
  uint32_t struct_size;
  uint32_t result;       /* SBX_SUBMITTED_* */
  uint64_t event_id;     /* its own id, also of a duplicate: results and traces name it */
  uint64_t original_id;  /* of a duplicate: the event that was accepted. 0: unknown, without
                          * gateway.history or from a call that does not wait */
  uint64_t deliveries;   /* how many were made */
} sbx_submitted;

/* The result of submitted events: on disk, one id per event in their order. Borrowed. */
typedef struct sbx_submission {
  uint32_t struct_size;
  sbx_status status;         /* OK; AGAIN: too much waits; UNREACHABLE: the disk failed; STOPPING */
  const uint64_t *event_ids; /* 0: dropped, its dedupe key was seen before; NULL without OK */
  size_t event_count;
  const sbx_submitted *events; /* one for each, in their order; NULL without OK. Since 1.1 */
  size_t event_stride;         /* of `events`. Since 1.1 */
} sbx_submission;

/* The answer to a request that was handed in. Borrowed. */
typedef struct sbx_answer {
  uint32_t struct_size, http_status;
  const sbx_kv *headers;     /* names in lower case */
  size_t header_count;
  sbx_str body;
} sbx_answer;

/* The version of the library: SBX_ABI_MAJOR << 16 | SBX_ABI_MINOR. */
SBX_EXPORT uint32_t sbx_gateway_version(void);

/* Makes a gateway; nothing runs yet. Owner: *gateway is the caller's until sbx_gateway_destroy().
 * Statuses: OK, INVALID (neither or both of config_file and config_text), INTERNAL. */
SBX_EXPORT sbx_status sbx_gateway_create(const sbx_gateway_options *options, sbx_gateway **gateway, sbx_error *error);

/* Offers a plugin that is linked into the program as `library: NAME`, before the start.
 * Statuses: OK, INVALID (it refuses, or the gateway runs). Thread: one at a time. */
SBX_EXPORT sbx_status sbx_gateway_add_plugin(sbx_gateway *gateway, sbx_str name, sbx_entry_fn entry, sbx_error *error);

/* Starts; waits until everything runs, or nothing does. Each fault of the configuration is a line of
 * the log, "configuration fault"; error->message has the first one.
 * Statuses: OK, INVALID (the configuration), UNREACHABLE (an address is unavailable), INTERNAL. */
SBX_EXPORT sbx_status sbx_gateway_start(sbx_gateway *gateway, sbx_error *error);

/* One fault or warning of a configuration. Borrowed. Since 1.1 */
#define SBX_FINDING_FAULT   1u  /* no gateway starts or reloads with it */
#define SBX_FINDING_WARNING 2u  /* a gateway runs with it, but probably not as meant */
typedef struct sbx_finding {
  uint32_t struct_size;
  uint32_t severity;      /* SBX_FINDING_* */
  uint32_t line, column;  /* from 1 */
  sbx_str file;           /* the configuration, or a file that it names */
  sbx_str code;           /* the rule: "unknown-key"; docs/errors.md lists them */
  sbx_str message;        /* names the thing and the fix; holds no secret */
} sbx_finding;

/* Checks a configuration with its plugins as `signalbox check` does, and runs nothing of it: `config_text`, or
 * the gateway's own if it is empty. `done` is called once if the status is OK, with all faults and then all
 * warnings, n = 0 if there are none. Waits. State: any, before a start as well.
 * Owner: the findings are the library's, until `done` returns. Statuses: OK, INVALID (no gateway or done). Since 1.1 */
SBX_EXPORT sbx_status sbx_gateway_check(sbx_gateway *gateway, sbx_str config_text,
                                        void (*done)(void *context, const sbx_finding *findings, size_t n,
                                                     size_t stride),
                                        void *context, sbx_error *error);

/* The port of gateway.listen or gateway.admin; 0: there is none, or the gateway does not run. */
SBX_EXPORT uint32_t sbx_gateway_listen_port(sbx_gateway *gateway);
SBX_EXPORT uint32_t sbx_gateway_admin_port(sbx_gateway *gateway);

/* Submits events of a source that is named in gateway.sources. All are committed, or none. A struct_size or stride
 * that does not hold the struct as in 1.0 is INVALID, and error->message names it; nothing is read then. `done` is
 * called exactly once after OK and never after another status; with done NULL it waits, and the status
 * is the submission's. Statuses: OK, INVALID (unknown source, malformed event), TOO_LARGE, STOPPING. */
SBX_EXPORT sbx_status sbx_gateway_submit(sbx_gateway *gateway, sbx_str source, const sbx_event *events, size_t n,
                                         size_t stride, void (*done)(void *context, const sbx_submission *submission),
                                         void *context, sbx_error *error);

/* The same from JSON: an event or an array of them, with the names of sbx_event, sbx_recipient and
 * sbx_device: {"type": ..., "data": {...}, "recipients": [{"platform": "ios", "token": ...}]}. */
SBX_EXPORT sbx_status sbx_gateway_submit_json(sbx_gateway *gateway, sbx_str source, sbx_str json,
                                              void (*done)(void *context, const sbx_submission *submission),
                                              void *context, sbx_error *error);

/* The same two, and they wait: `done`, which may be NULL, is called once if the status is OK, and not with
 * another one.
 * State: started. Statuses: as above, AGAIN, UNREACHABLE (as sbx_submission.status). Since 1.1 */
SBX_EXPORT sbx_status sbx_gateway_submit_wait(sbx_gateway *gateway, sbx_str source, const sbx_event *events, size_t n,
                                              size_t stride,
                                              void (*done)(void *context, const sbx_submission *submission),
                                              void *context, sbx_error *error);
SBX_EXPORT sbx_status sbx_gateway_submit_json_wait(sbx_gateway *gateway, sbx_str source, sbx_str json,
                                                   void (*done)(void *context, const sbx_submission *submission),
                                                   void *context, sbx_error *error);

/* Answers a request as the gateway's own listener would; `pattern` and `params` are not read, header
 * names are in lower case. Waits; `done` is called before it returns OK, on any thread.
 * Statuses: OK, INVALID (malformed). */
SBX_EXPORT sbx_status sbx_gateway_handle(sbx_gateway *gateway, const sbx_request *request,
                                         void (*done)(void *context, const sbx_answer *answer), void *context,
                                         sbx_error *error);

/* The same, and returns at once. Statuses: as above; done is called exactly once after OK and never
 * after another status. */
SBX_EXPORT sbx_status sbx_gateway_handle_async(sbx_gateway *gateway, const sbx_request *request,
                                               void (*done)(void *context, const sbx_answer *answer), void *context,
                                               sbx_error *error);

/* Answers a request as the admin listener would, also without one (`admin: false`): traces, dead letters, pauses,
 * readiness and the rest of docs/embedding.md, with JSON in and out. Of the request, `method`, `path`, `query` and
 * `body` are read. The program needs no token; what it changes is audited as "program".
 * Waits; `done` is called once if the status is OK. State: started. Owner: the answer is the library's, until
 * `done` returns. Statuses: OK, also for an http_status of 400 and above; INVALID (malformed), STOPPING (it does
 * not run). Since 1.1 */
SBX_EXPORT sbx_status sbx_gateway_admin(sbx_gateway *gateway, const sbx_request *request,
                                        void (*done)(void *context, const sbx_answer *answer), void *context,
                                        sbx_error *error);

/* The current metrics in the text format of Prometheus; `done` is called before it returns.
 * Statuses: OK, STOPPING (it does not run). */
SBX_EXPORT sbx_status sbx_gateway_metrics(sbx_gateway *gateway, void (*done)(void *context, sbx_str text), void *context);

/* How many deliveries wait or are under way. */
SBX_EXPORT uint64_t sbx_gateway_waiting(sbx_gateway *gateway);

/* Applies a changed configuration: the current file, or `config_text` if it is not empty. Unchanged
 * parts keep running; a configuration with a fault changes nothing. Waits until the replaced parts
 * have ended. Statuses: as sbx_gateway_start(), STOPPING. */
SBX_EXPORT sbx_status sbx_gateway_reload(sbx_gateway *gateway, sbx_str config_text, sbx_error *error);

/* The same, and reports the result in JSON. OK: what `signalbox reload --json` prints, with what was added,
 * removed, changed and kept, and what needs a restart. INVALID: {"faults": [...]}, with the members of sbx_finding.
 * `done` is called once with these two statuses, and not with another one. With SBX_RELOAD_CHECK nothing
 * changes: it says what a reload would do. Waits. State: started. Owner: the report is the library's, until
 * `done` returns. Statuses: as sbx_gateway_reload(). Since 1.1 */
#define SBX_RELOAD_CHECK 1u
SBX_EXPORT sbx_status sbx_gateway_reload_report(sbx_gateway *gateway, sbx_str config_text, uint64_t flags,
                                                void (*done)(void *context, sbx_str json), void *context,
                                                sbx_error *error);

/* Accepts nothing more and waits until what is in memory is sent, at most so long; *left: deliveries
 * that stay on disk for the next startup. Statuses: OK, STOPPING (it does not run). */
SBX_EXPORT sbx_status sbx_gateway_drain(sbx_gateway *gateway, uint32_t timeout_ms, uint64_t *left);

/* Stops, drains within gateway.drain, and frees. Waits; afterwards no callback comes. Submissions that are open by then
 * end as any other, or with STOPPING: nothing of them is on disk. NULL is allowed. */
SBX_EXPORT void sbx_gateway_destroy(sbx_gateway *gateway);

#ifdef __cplusplus
}
#endif
#endif
