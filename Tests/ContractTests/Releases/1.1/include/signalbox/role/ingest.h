/* signalbox/role/ingest.h - bytes in, events and an HTTP answer out. */
#ifndef SIGNALBOX_ROLE_INGEST_H
#define SIGNALBOX_ROLE_INGEST_H
#include "../model.h"

/* A path this instance serves. A segment "{name}" matches one segment; params carries it. */
typedef struct sbx_ingest_path {
  uint32_t struct_size, reserved;
  sbx_str pattern;  /* "/in/zendesk/s3cret", "/orgs/{org}/devices" */
  sbx_str methods;  /* "POST" or "GET,POST"; others are answered 405 by the host */
} sbx_ingest_path;

typedef struct sbx_request {
  uint32_t struct_size, reserved;
  sbx_str method, path, query, remote;
  sbx_str pattern;             /* the one of paths() that matched */
  sbx_str body;                /* raw bytes, at most 1 MiB: check signatures on these */
  sbx_str client_certificate;  /* subject under mutual TLS, else empty */
  const sbx_kv *params;        /* values of the pattern's "{name}" segments, percent-decoded */
  size_t param_count;
  const sbx_kv *headers;       /* names in lower case */
  size_t header_count;
  uint64_t received_unix_ms;
} sbx_request;

/* Where a request's results go. It copies what it is given. Owner: the host.
 * Lifetime: until handle() returns, or, after defer(), until finish(). Thread: one at a time. */
typedef struct sbx_ingest_sink {
  uint32_t struct_size, reserved;
  void *state;
  /* These happened: at most 1,000 events in one request, each with at most 10,000 recipients. Statuses: OK, INVALID
   * (malformed), TOO_LARGE (over these bounds); a failing call takes none of the array. Since 1.0. */
  sbx_status (*emit)(struct sbx_ingest_sink *sink, const sbx_event *events, size_t n, size_t stride);
  /* These devices were added (REGISTERED) or removed (UNREGISTERED). Committed together with the
   * events, and reported to the plugins that follow the app's devices, except the calling instance. At most 1,000
   * in one request.
   * Statuses: as emit(), UNSUPPORTED: this host keeps no registry. Since 1.0. */
  sbx_status (*change)(struct sbx_ingest_sink *sink, const sbx_change *changes, size_t n, size_t stride);
  /* One item of the request is unusable or of no interest and was skipped; the others are not affected. Counted by
   * `reason`, from a closed list; `detail` is logged at debug level and holds no token or body. More than 10,000 in
   * one request are left out.
   * Statuses: OK. Since 1.0. */
  sbx_status (*reject)(struct sbx_ingest_sink *sink, sbx_str reason, sbx_str detail);
  /* The answer, at most once. A 2xx leaves only after all events and changes are committed; if
   * that fails the host answers 503 instead. Without respond(): 200, or 202 if nothing was emitted.
   * Statuses: OK, INVALID (second call, status outside 200-599). Since 1.0. */
  sbx_status (*respond)(struct sbx_ingest_sink *sink, uint32_t status, const sbx_kv *headers, size_t n, sbx_str body);
  /* The request stays open after handle() returned OK, for something that must be fetched first;
   * the request's memory does not. Statuses: OK, INVALID (second call). Since 1.0. */
  sbx_status (*defer)(struct sbx_ingest_sink *sink, uint32_t timeout_ms);
  /* Ends a deferred request, exactly once, with a status and error as handle() would have returned
   * them; `error` may be NULL. After the timeout the host has answered 503; finish() is still due.
   * Thread: [any]. Since 1.0. */
  void (*finish)(struct sbx_ingest_sink *sink, sbx_status status, const sbx_error *error);
} sbx_ingest_sink;

#define SBX_ROLE_INGEST "sbx.role.ingest/1"
typedef struct sbx_ingest {
  uint32_t struct_size, reserved;
  /* The paths this instance serves; asked once after start(). Two instances must not claim one path.
   * Owner: the plugin, until destroy(). Statuses: OK, INTERNAL. Thread: [control]. State: [started]. Since 1.0. */
  sbx_status (*paths)(sbx_instance *instance, const sbx_ingest_path **paths, size_t *n, size_t *stride);
  /* One request. A failing status discards all that was emitted and, without respond(), is answered
   * with a problem document of status 400 (INVALID), 401 (AUTH), 404 (NOT_FOUND), 413 (TOO_LARGE),
   * 503 (AGAIN) or 500, whose detail is error->message (for 500: that the plugin failed).
   * Statuses: OK and those. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*handle)(sbx_instance *instance, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error);
} sbx_ingest;

#endif
