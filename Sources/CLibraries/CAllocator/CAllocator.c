#include "CAllocator.h"

#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdlib.h>

/* Read by jemalloc before main. Memory that nobody has used for a second goes back to the kernel; four arenas, since
 * the gateway has few threads and what lies idle in each is resident. */
const char *malloc_conf = "narenas:4,dirty_decay_ms:1000";

const char *allocator_version(void) {
  const char *version = NULL;
  size_t size = sizeof version;
  if (mallctl("version", &version, &size, NULL, 0) != 0) return NULL;
  /* What malloc gives is known to jemalloc only if it is jemalloc's. */
  uint64_t before = 0, after = 0;
  size = sizeof before;
  if (mallctl("thread.allocated", &before, &size, NULL, 0) != 0) return NULL;
  void *volatile piece = malloc(64);
  if (mallctl("thread.allocated", &after, &size, NULL, 0) != 0) after = before;
  free(piece);
  return after > before ? version : NULL;
}
