/* signalbox/service/metrics.h - numbers for the host's /metrics, labelled with the instance. */
#ifndef SIGNALBOX_SERVICE_METRICS_H
#define SIGNALBOX_SERVICE_METRICS_H
#include "../types.h"
struct sbx_host;

#define SBX_SVC_METRICS "sbx.metrics/1"
typedef struct sbx_metrics {
  uint32_t struct_size, reserved;
  /* A handle for a counter ("webhooks_rejected_total") or a gauge ("certificate_expires_seconds");
   * the same name and labels give the same handle. 0: refused (a name over 100 bytes or of other characters than
   * a-z, 0-9 and _; over 1,000 series of this instance or 20,000 of all plugins); using 0 is harmless.
   * Labels come from closed lists. Thread: [any], but not per event. */
  uint64_t (*counter)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
  uint64_t (*gauge)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
  /* Counts. Thread: [any]; wait-free. */
  void (*add)(const struct sbx_host *host, uint64_t counter, uint64_t delta);
  /* Sets a gauge. Thread: [any]; wait-free. */
  void (*set)(const struct sbx_host *host, uint64_t gauge, int64_t value);
} sbx_metrics;

#endif
