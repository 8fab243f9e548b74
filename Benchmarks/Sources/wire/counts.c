#include "counts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void counts_begin(struct counts *counts, size_t numbers) {
  uint8_t *seen = counts->seen;
  uint64_t connections = counts->connections;
  if (numbers != counts->seen_bits || !seen) {
    free(seen);
    seen = calloc(numbers / 8 + 1, 1);
  } else {
    memset(seen, 0, numbers / 8 + 1);
  }
  memset(counts, 0, sizeof *counts);
  counts->seen = seen;
  counts->seen_bits = seen ? numbers : 0;
  counts->connections = connections;
}

/* Counts duplicate requests: a gateway that sends twice is not a fast one. */
void counts_number(struct counts *counts, uint64_t number) {
  if (number >= counts->seen_bits) return;
  uint8_t bit = (uint8_t)(1u << (number & 7));
  if (counts->seen[number >> 3] & bit) counts->again++;
  counts->seen[number >> 3] |= bit;
}

static unsigned class_of(uint64_t ns) {
  if (ns < 64) return (unsigned)ns;
  unsigned power = 63u - (unsigned)__builtin_clzll(ns);
  return (power - 5) * 64 + (unsigned)((ns >> (power - 6)) & 63);
}

static uint64_t ns_of(unsigned class) {
  if (class < 64) return class;
  unsigned power = class / 64 + 5;
  return (UINT64_C(1) << power) + ((uint64_t)(class % 64) << (power - 6));
}

void counts_latency(struct counts *counts, uint64_t sent_ns, uint64_t at_ns) {
  counts->latency[class_of(at_ns > sent_ns ? at_ns - sent_ns : 0)]++;
}

void counts_wrong(struct counts *counts, const char *what) {
  if (counts->wrong++ == 0) snprintf(counts->fault, sizeof counts->fault, "%s", what);
}

static uint64_t percentile(const struct counts *counts, double share) {
  uint64_t total = 0, below = 0;
  for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++) total += counts->latency[i];
  for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++) {
    below += counts->latency[i];
    if (total && (double)below >= share * (double)total) return ns_of(i);
  }
  return 0;
}

void counts_report(const struct counts *counts, FILE *out) {
  double seconds = (double)(counts->last_ns - counts->first_ns) / 1e9;
  fprintf(out,
      "{\"requests\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"again\":%" PRIu64 ",\"connections\":%" PRIu64
      ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"per_second\":%.0f,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f"
      ",\"p999_us\":%.1f,\"fault\":\"%s\"}\n",
      counts->requests, counts->wrong, counts->again, counts->connections, counts->bytes, seconds,
      seconds > 0 ? (double)counts->requests / seconds : 0, (double)percentile(counts, 0.5) / 1e3,
      (double)percentile(counts, 0.9) / 1e3, (double)percentile(counts, 0.99) / 1e3,
      (double)percentile(counts, 0.999) / 1e3, counts->fault);
  fflush(out);
}
