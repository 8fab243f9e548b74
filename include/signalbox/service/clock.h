/* signalbox/service/clock.h - the host's wall clock. Ask it instead of the system, so that a host
 * that runs in virtual time (tests, dry runs) is believed. */
#ifndef SIGNALBOX_SERVICE_CLOCK_H
#define SIGNALBOX_SERVICE_CLOCK_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_CLOCK "sbx.clock/1"
typedef struct sbx_clock {
  uint32_t struct_size, reserved;
  /* Milliseconds since 1970. It can jump. Thread: [any]. Since 1.0. */
  uint64_t (*unix_ms)(const struct sbx_host *host);
} sbx_clock;

#endif
