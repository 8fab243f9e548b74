/* signalbox/service/clock.h - the host's wall clock. Ask it instead of the system: the host may
 * run in virtual time (tests, dry runs). */
#ifndef SIGNALBOX_SERVICE_CLOCK_H
#define SIGNALBOX_SERVICE_CLOCK_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_CLOCK "sbx.clock/1"
typedef struct sbx_clock {
  uint32_t struct_size, reserved;
  /* Milliseconds since 1970. It can jump. Thread: [any]. Since 1.0. */
  uint64_t (*unix_ms)(const struct sbx_host *host);
  /* How far local time is ahead of UTC in an IANA zone ("Europe/Vienna") at an instant, in seconds.
   * Statuses: OK, NOT_FOUND (no such zone). Thread: [any]. Since 1.0. */
  sbx_status (*utc_offset)(const struct sbx_host *host, sbx_str zone, uint64_t unix_ms, int32_t *seconds);
} sbx_clock;

#endif
