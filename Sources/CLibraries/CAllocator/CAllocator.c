#include "CAllocator.h"

#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdlib.h>

/* jemalloc reads this before main. Memory unused for a second returns to the kernel. Four arenas
 * are enough for the gateway's few threads, and each arena keeps idle memory resident. */
const char *malloc_conf = "narenas:4,dirty_decay_ms:1000";

const char *allocator_version(void) {
  const char *version = NULL;
  size_t size = sizeof version;
  if (mallctl("version", &version, &size, NULL, 0) != 0) return NULL;
  /* Only memory from jemalloc's own malloc shows up in its counters. */
  uint64_t before = 0, after = 0;
  size = sizeof before;
  if (mallctl("thread.allocated", &before, &size, NULL, 0) != 0) return NULL;
  void *volatile piece = malloc(64);
  if (mallctl("thread.allocated", &after, &size, NULL, 0) != 0) after = before;
  free(piece);
  return after > before ? version : NULL;
}
