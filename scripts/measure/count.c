/* Counts calls of malloc and its kin, and the bytes they ask for, into the file that SBX_COUNT_FILE names: two 64-bit
 * numbers, readable while the program runs. Preloaded by event-cost.sh; forwards to the program's own allocator. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
  _Atomic uint64_t calls, bytes;
};
static struct counts early;
static struct counts *counts = &early;

__attribute__((constructor)) static void open_file(void) {
  const char *path = getenv("SBX_COUNT_FILE");
  int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof *counts) != 0) return;
  void *map = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map != MAP_FAILED) counts = map;
  close(file);
}

static void count(size_t bytes) {
  atomic_fetch_add_explicit(&counts->calls, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&counts->bytes, bytes, memory_order_relaxed);
}

/* dlsym() may allocate before it returns; these allocations come from here. */
static char room[65536];
static size_t used;
static void *first_room(size_t bytes) {
  size_t start = (used + 15) & ~(size_t)15;
  if (start + bytes > sizeof room) abort();
  used = start + bytes;
  return room + start;
}
static int is_first_room(const void *p) { return (const char *)p >= room && (const char *)p < room + sizeof room; }

#define NEXT(name)                                                                                                     \
  static __typeof__(&name) next;                                                                                       \
  static _Thread_local int asking;                                                                                     \
  if (!next && !asking) {                                                                                              \
    asking = 1;                                                                                                        \
    next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                                 \
    asking = 0;                                                                                                        \
  }

void *malloc(size_t bytes) {
  NEXT(malloc)
  if (!next) return first_room(bytes);
  count(bytes);
  return next(bytes);
}
void *calloc(size_t n, size_t bytes) {
  NEXT(calloc)
  if (!next) return first_room(n * bytes);
  count(n * bytes);
  return next(n, bytes);
}
void *realloc(void *p, size_t bytes) {
  NEXT(realloc)
  if (is_first_room(p)) return malloc(bytes);
  count(bytes);
  return next(p, bytes);
}
int posix_memalign(void **p, size_t alignment, size_t bytes) {
  NEXT(posix_memalign)
  count(bytes);
  return next(p, alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  NEXT(aligned_alloc)
  count(bytes);
  return next(alignment, bytes);
}
void free(void *p) {
  NEXT(free)
  if (!is_first_room(p)) next(p);
}
