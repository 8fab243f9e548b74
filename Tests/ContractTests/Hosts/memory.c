/* Memory for a plugin. Each piece ends at an unreadable page, so reading past its end kills the
 * process. After the call the piece itself becomes unreadable. */
#include "host.h"
#include <sys/mman.h>
#include <unistd.h>

static struct piece {
  char *start;
  size_t bytes;
} pieces[4096];
static size_t piece_count;

void *edge_for_good(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = (bytes + page - 1) / page * page;
  char *start = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect(start + room, page, PROT_NONE) != 0) die("no memory");
  if (piece_count == sizeof pieces / sizeof *pieces) die("too many pieces in one call");
  pieces[piece_count] = (struct piece){start, room};
  return start + room - bytes;
}

void *edge(size_t bytes) {
  void *out = edge_for_good(bytes);
  piece_count++;
  return out;
}

void edge_release(void) {
  while (piece_count > 0) {
    piece_count--;
    if (mprotect(pieces[piece_count].start, pieces[piece_count].bytes, PROT_NONE) != 0) die("mprotect");
  }
}

void *edge_copy(const void *from, size_t bytes) { return memcpy(edge(bytes), from, bytes); }

sbx_str edge_text(sbx_str text) {
  if (text.len == 0) return (sbx_str){NULL, 0};
  return (sbx_str){edge_copy(text.ptr, text.len), text.len};
}

sbx_error *edge_error(void) {
  sbx_error *error = EDGE(sbx_error, 1);
  error->struct_size = sizeof *error;
  FUTURE(error);
  return error;
}

sbx_str keep(sbx_str text) {
  if (text.len == 0) return (sbx_str){NULL, 0};
  char *copy = malloc(text.len);
  if (!copy) die("no memory");
  return (sbx_str){memcpy(copy, text.ptr, text.len), text.len};
}

const sbx_kv *keep_pairs(const sbx_kv *pairs, size_t n) {
  if (n == 0) return NULL;
  sbx_kv *copy = calloc(n, sizeof *copy);
  if (!copy) die("no memory");
  for (size_t i = 0; i < n; i++) copy[i] = (sbx_kv){keep(pairs[i].key), keep(pairs[i].value)};
  return copy;
}

void take(void *to, size_t bytes, const void *from, uint32_t size) {
#ifdef WRONG_SIZE
  size = (uint32_t)bytes;
#endif
  memset(to, 0, bytes);
  memcpy(to, from, size < bytes ? size : bytes);
}
