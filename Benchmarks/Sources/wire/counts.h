/* What has arrived, and how late; both ends use it. */
#ifndef WIRE_COUNTS_H
#define WIRE_COUNTS_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Latencies in buckets that are 1.6 % wide: 64 for each power of two. */
#define HISTOGRAM_CLASSES (64 * 64)

struct counts {
  uint64_t requests, wrong, again, connections;
  uint64_t first_ns, last_ns;
  uint64_t bytes;
  uint64_t latency[HISTOGRAM_CLASSES];
  /* The numbers that have arrived, one bit each. */
  uint8_t *seen;
  size_t seen_bits;
  /* Describes the first invalid request. */
  char fault[160];
};

uint64_t now_ns(void);
void counts_begin(struct counts *counts, size_t numbers);
void counts_number(struct counts *counts, uint64_t number);
void counts_latency(struct counts *counts, uint64_t sent_ns, uint64_t at_ns);
void counts_wrong(struct counts *counts, const char *what);
void counts_report(const struct counts *counts, FILE *out);
#endif
