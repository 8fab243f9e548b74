/* signalbox/role/source.h - events that a plugin takes in by itself: from a bus, a poll, a socket, a
 * schedule. For webhooks there is ingest. Since 1.1. */
#ifndef SIGNALBOX_ROLE_SOURCE_H
#define SIGNALBOX_ROLE_SOURCE_H
#include "../model.h"

struct sbx_host;

/* Where a source's events go. Owner: the host. */
#define SBX_SVC_SOURCE_HOST "sbx.source-host/1"
typedef struct sbx_source_host {
  uint32_t struct_size, reserved;
  /* A batch of events: all of them are stored, or none. It is copied before emit() returns. `token` is the
   * plugin's own; it comes back in settled(), exactly once after OK and never after another status, perhaps
   * before emit() has returned.
   * Statuses: OK; AGAIN (`batches_max` batches are undecided, or the source is paused: emit it again after the
   * next settled() or resume()); INVALID (malformed: the log says why, and it will never be taken); TOO_LARGE
   * (over 1,000 events or 4 MiB of data: split it); STOPPING. Thread: [any], from the first resume() on. Since 1.1. */
  sbx_status (*emit)(const struct sbx_host *host, uint64_t token, const sbx_event *events, size_t n, size_t stride);
  /* How the source is, whenever that changes: OK (events come in), or why none do, such as UNREACHABLE or AUTH with
   * words for people in `reason`: no secret, at most 1 KiB. The host's readiness, log and metrics show it. A resumed
   * source counts as running until it says otherwise, and resume() ends what it has said before.
   * Statuses: OK; INVALID (the source is paused). Thread: [any], from the first resume() on. Since 1.1. */
  sbx_status (*condition)(const struct sbx_host *host, sbx_status status, sbx_str reason);
} sbx_source_host;

/* What became of a batch. */
typedef struct sbx_batch_result {
  uint32_t struct_size;
  sbx_status status;        /* OK: its events are on disk, so acknowledge it. AGAIN or one that you do not know:
                               nothing of it is stored, emit it again */
  uint64_t token;           /* as in emit() */
  uint64_t retry_after_ms;  /* with AGAIN: not before so long */
  uint32_t stored;          /* with OK: so many events are new, */
  uint32_t repeated;        /* and so many were dropped, since their dedupe key was seen before */
} sbx_batch_result;

#define SBX_ROLE_SOURCE "sbx.role.source/1"
typedef struct sbx_source {
  uint32_t struct_size, reserved;
  /* Take events in from now on: the routes are ready. At most `batches_max` batches, 16 today, may be undecided.
   * Called after start() and after each pause(). If it fails, the host logs error->message and calls it again,
   * with growing waits. Connecting may go on after it has returned.
   * Statuses: OK, UNREACHABLE, AUTH, INVALID, INTERNAL. Thread: [control]. State: [started]. Since 1.1. */
  sbx_status (*resume)(sbx_instance *instance, uint32_t batches_max, sbx_error *error);
  /* Emit nothing more until resume(). What was emitted is still settled. Called before stop(), when a reload
   * replaces the instance, and while the gateway stops. Statuses: OK. Thread: [control]. State: [started]. Since 1.1. */
  sbx_status (*pause)(sbx_instance *instance, sbx_error *error);
  /* These batches are decided; as many may be emitted again, also from inside. Thread: [worker]. State: [started]. Since 1.1. */
  void (*settled)(sbx_instance *instance, const sbx_batch_result *results, size_t n, size_t stride);
} sbx_source;

#endif
