// Faults of the host for one process: preloaded, and steered through a file that the script maps, too (shim.py).
//
// A file below SIGNALBOX_CHAOS_FOLDER is watched from its open on. With SIGNALBOX_CHAOS_JOURNAL, each change of a
// watched file and each sync is written there, so that the script can rebuild what a power cut leaves (power.py).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The order is that of shim.py.
enum { WRITE_ERRNO, SYNC_ERRNO, SYNC_ERRORS, SYNC_NAME, SYNC_US, WRITE_US, CLOCK_NS, THREAD_ERRNO, HITS, WORDS = 16 };
enum { NAME_ANY, NAME_LOG, NAME_DATABASE };
enum { OPENED = 1, WRITTEN, CUT, SYNCED, UNLINKED, RENAMED };
enum { FILES = 1 << 16 };

static int64_t none[WORDS];
static volatile int64_t *control = none;
static const char *folder;
static int journal = -1;
static uint64_t records;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { uint64_t inode; int name; } watched[FILES];
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((constructor)) static void begin(void) {
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  real_thread = dlsym(RTLD_NEXT, "pthread_create");
  const char *path = getenv("SIGNALBOX_CHAOS_CONTROL");
  int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) control = mapped;
    syscall(SYS_close, file);
  }
  folder = getenv("SIGNALBOX_CHAOS_FOLDER");
  path = getenv("SIGNALBOX_CHAOS_JOURNAL");
  if (path) journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int fail(int error) {
  __atomic_add_fetch(&control[HITS], 1, __ATOMIC_RELAXED);
  errno = error;
  return -1;
}

static void wait_us(int64_t us) {
  if (us <= 0) return;
  int before = errno;
  __atomic_add_fetch(&control[HITS], 1, __ATOMIC_RELAXED);
  struct timespec left = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&left, &left) && errno == EINTR) continue;
  errno = before;
}

// Called with the lock. A record is one write, so that a SIGKILL leaves whole records but for the last.
static void note(uint64_t what, uint64_t inode, uint64_t a, uint64_t b, const void *bytes, size_t size) {
  if (journal < 0) return;
  int before = errno;
  uint64_t head[5] = {what, inode, a, b, size};
  struct iovec parts[2] = {{head, sizeof head}, {(void *)bytes, size}};
  syscall(SYS_writev, journal, parts, 2);
  records++;
  errno = before;
}

static int is_watched(int file) { return file >= 0 && file < FILES && watched[file].inode; }

// The folder may be written with `/./` in it.
static int is_inside(const char *path) {
  const char *at = folder;
  while (at && *at && *path == *at) {
    if (*path == '/' && path[1] == '.' && path[2] == '/') path += 2;
    path++;
    at++;
  }
  return at && !*at;
}

// Opening

static int opened(int at, const char *path, int flags, mode_t mode) {
  // A file without a name never gets one here.
  if (!is_inside(path) || (flags & O_TMPFILE) == O_TMPFILE) return syscall(SYS_openat, at, path, flags, mode);
  int error = control[WRITE_ERRNO];
  int is_new = (flags & O_CREAT) && access(path, F_OK);
  if (error && (is_new || (flags & O_TRUNC) || (error == EROFS && (flags & O_ACCMODE) != O_RDONLY))) return fail(error);
  pthread_mutex_lock(&lock);
  int file = syscall(SYS_openat, at, path, flags, mode);
  struct stat facts;
  if (file >= 0 && file < FILES && !fstat(file, &facts)) {
    size_t length = strlen(path);
    watched[file].inode = facts.st_ino;
    watched[file].name = length > 4 && !strcmp(path + length - 4, "-wal") ? NAME_LOG
      : length > 7 && !strcmp(path + length - 7, ".sqlite") ? NAME_DATABASE : NAME_ANY;
    note(OPENED, facts.st_ino, is_new || (flags & O_TRUNC), S_ISDIR(facts.st_mode), path, length);
  }
  pthread_mutex_unlock(&lock);
  return file;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return opened(AT_FDCWD, path, flags, mode); \
  }
#define OPEN_AT(name) \
  int name(int at, const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return opened(at, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }

int close(int file) {
  if (file >= 0 && file < FILES) watched[file].inode = 0;
  return syscall(SYS_close, file);
}

// Writing

static ssize_t written(int file, const struct iovec *parts, int count, off_t at) {
  if (control[WRITE_ERRNO]) return fail(control[WRITE_ERRNO]);
  wait_us(control[WRITE_US]);
  pthread_mutex_lock(&lock);
  off_t place = at;
  if (at < 0) place = fcntl(file, F_GETFL) & O_APPEND ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR);
  ssize_t all = at < 0 ? syscall(SYS_writev, file, parts, count) : syscall(SYS_pwritev, file, parts, count, at, 0);
  ssize_t left = all;
  for (int i = 0; i < count && left > 0; i++) {
    ssize_t size = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
    note(WRITTEN, watched[file].inode, place, 0, parts[i].iov_base, size);
    place += size;
    left -= size;
  }
  pthread_mutex_unlock(&lock);
  return all;
}

ssize_t write(int file, const void *bytes, size_t size) {
  struct iovec part = {(void *)bytes, size};
  return is_watched(file) ? written(file, &part, 1, -1) : syscall(SYS_write, file, bytes, size);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  struct iovec part = {(void *)bytes, size};
  return is_watched(file) ? written(file, &part, 1, at) : syscall(SYS_pwrite64, file, bytes, size, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off_t at) { return pwrite(file, bytes, size, at); }
ssize_t writev(int file, const struct iovec *parts, int count) {
  return is_watched(file) ? written(file, parts, count, -1) : syscall(SYS_writev, file, parts, count);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  return is_watched(file) ? written(file, parts, count, at) : syscall(SYS_pwritev, file, parts, count, at, 0);
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off_t at) { return pwritev(file, parts, count, at); }

int ftruncate(int file, off_t size) {
  if (!is_watched(file)) return syscall(SYS_ftruncate, file, size);
  if (control[WRITE_ERRNO]) return fail(control[WRITE_ERRNO]);
  pthread_mutex_lock(&lock);
  int status = syscall(SYS_ftruncate, file, size);
  if (!status) note(CUT, watched[file].inode, size, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return status;
}
int ftruncate64(int file, off_t size) { return ftruncate(file, size); }

// Nothing relies on the room: a file that grows is written afterwards, and the replay grows it then.
int fallocate(int file, int mode, off_t at, off_t size) {
  if (is_watched(file) && control[WRITE_ERRNO]) return fail(control[WRITE_ERRNO]);
  return syscall(SYS_fallocate, file, mode, at, size);
}
int fallocate64(int file, int mode, off_t at, off_t size) { return fallocate(file, mode, at, size); }
int posix_fallocate(int file, off_t at, off_t size) { return fallocate(file, 0, at, size) ? errno : 0; }
int posix_fallocate64(int file, off_t at, off_t size) { return posix_fallocate(file, at, size); }

int unlink(const char *path) {
  if (!is_inside(path)) return syscall(SYS_unlink, path);
  if (control[WRITE_ERRNO] == EROFS) return fail(EROFS);
  pthread_mutex_lock(&lock);
  int status = syscall(SYS_unlink, path);
  if (!status) note(UNLINKED, 0, 0, 0, path, strlen(path));
  pthread_mutex_unlock(&lock);
  return status;
}

int rename(const char *from, const char *to) {
  if (!is_inside(to)) return syscall(SYS_rename, from, to);
  if (control[WRITE_ERRNO] == EROFS) return fail(EROFS);
  pthread_mutex_lock(&lock);
  int status = syscall(SYS_rename, from, to);
  if (!status) {
    note(RENAMED, 0, 0, 0, from, strlen(from));
    note(RENAMED, 0, 1, 0, to, strlen(to));
  }
  pthread_mutex_unlock(&lock);
  return status;
}

// Syncing

static int synced(int file, long call) {
  if (!is_watched(file)) return syscall(call, file);
  uint64_t covers = __atomic_load_n(&records, __ATOMIC_SEQ_CST);
  int64_t name = control[SYNC_NAME];
  int error = 0;
  if (control[SYNC_ERRNO] && (name == NAME_ANY || name == watched[file].name)) {
    // A negative count never ends.
    if (__atomic_fetch_sub(&control[SYNC_ERRORS], control[SYNC_ERRORS] > 0, __ATOMIC_SEQ_CST)) error = control[SYNC_ERRNO];
  }
  wait_us(control[SYNC_US]);
  int status = error ? -1 : syscall(call, file);
  pthread_mutex_lock(&lock);
  note(SYNCED, watched[file].inode, status == 0, covers, NULL, 0);
  pthread_mutex_unlock(&lock);
  return error ? fail(error) : status;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

// The clock of the wall

int clock_gettime(clockid_t clock, struct timespec *out) {
  int status = real_clock ? real_clock(clock, out) : (int)syscall(SYS_clock_gettime, clock, out);
  if (!status && control[CLOCK_NS] && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t ns = out->tv_sec * 1000000000LL + out->tv_nsec + control[CLOCK_NS];
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
  }
  return status;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

// Threads

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
  if (control[THREAD_ERRNO]) {
    __atomic_add_fetch(&control[HITS], 1, __ATOMIC_RELAXED);
    return control[THREAD_ERRNO];
  }
  return real_thread(thread, how, run, argument);
}
