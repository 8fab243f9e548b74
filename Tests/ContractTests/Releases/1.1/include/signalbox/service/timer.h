/* signalbox/service/timer.h - one-shot timers. */
#ifndef SIGNALBOX_SERVICE_TIMER_H
#define SIGNALBOX_SERVICE_TIMER_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_TIMER "sbx.timer/1"
typedef struct sbx_timer {
  uint32_t struct_size, reserved;
  /* Calls fn(context) once on a [worker] thread, not before `ms` have passed. The timer's id, or 0:
   * over 1,000 timers of this instance, or stopping. Thread: [any]. */
  uint64_t (*after)(const struct sbx_host *host, uint64_t ms, void (*fn)(void *context), void *context);
  /* When it returns, fn does not run and will not. From inside fn itself it returns at once.
   * Unknown ids are ignored. Thread: [any]. */
  void (*cancel)(const struct sbx_host *host, uint64_t timer);
} sbx_timer;

#endif
