/* signalbox/role/observe.h - is told how deliveries ended and what users opened, in batches, for a bus, a
 * warehouse or a CRM. Since 1.1. */
#ifndef SIGNALBOX_ROLE_OBSERVE_H
#define SIGNALBOX_ROLE_OBSERVE_H
#include "../types.h"

struct sbx_host;

/* One outcome. */
typedef struct sbx_observation {
  uint32_t struct_size, reserved;
  uint64_t sequence;  /* grows with every outcome of the store, with gaps; the same when it comes again */
  sbx_str json;       /* an object with the members of docs/outcomes.md: "result", "event_id", "user", ... */
} sbx_observation;

/* Where a batch is answered. Owner: the host. */
#define SBX_SVC_OBSERVE_HOST "sbx.observe-host/1"
typedef struct sbx_observe_host {
  uint32_t struct_size, reserved;
  /* Answers a batch that observe() took, exactly once; perhaps before observe() has returned. `sequence` is that
   * of the batch's last observation. Statuses that may be given: OK (they are safe at the other side; they never
   * come again), AGAIN, UNREACHABLE, TIMEOUT, LOST (they come again after retry_after_ms or a growing wait), any
   * other (the other side refuses them: they come again after long waits, until that is mended).
   * Another sequence than that of the open batch is ignored. Thread: [any]. Since 1.1. */
  void (*done)(const struct sbx_host *host, uint64_t sequence, sbx_status status, uint64_t retry_after_ms);
} sbx_observe_host;

#define SBX_ROLE_OBSERVE "sbx.role.observe/1"
typedef struct sbx_observe {
  uint32_t struct_size;
  uint32_t max_batch;  /* most observations per call; 0: the host's choice */
  /* Takes a batch in the order of its sequences, and returns; never waits for the network. No other batch comes
   * until it is answered by done(). Without an answer for 60 s it counts against the plugin and comes again.
   * Each observation comes at least once: whoever stores them keeps the largest sequence, and skips what is not
   * above it. A failing status answers the batch, as done() would.
   * Statuses: OK, and those of done(). Thread: [worker]. State: [started]. Since 1.1. */
  sbx_status (*observe)(sbx_instance *instance, const sbx_observation *observations, size_t n, size_t stride,
                        sbx_error *error);
} sbx_observe;

#endif
