#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int confine_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? errno : 0; }

int confine_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? errno : 0; }

/* Lowers both limits of a resource; never raises one. */
static int confine_limit(int resource, uint64_t most) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now)) return errno;
  if (now.rlim_max > most) now.rlim_max = most;
  if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
  return setrlimit((__rlimit_resource_t)resource, &now) ? errno : 0;
}
int confine_cores(void) { return confine_limit(RLIMIT_CORE, 0); }
int confine_files(uint64_t most) { return confine_limit(RLIMIT_NOFILE, most); }
int confine_memory(uint64_t most) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  /* Their tables of all addresses count as data. */
  return (void)most, 0;
#endif
#endif
  return confine_limit(RLIMIT_DATA, most);
}
int confine_threads(uint64_t most) { return confine_limit(RLIMIT_NPROC, most); }

static int confine_write(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int status = write(file, text, strlen(text)) < 0 ? errno : 0;
  close(file);
  return status;
}

int confine_survival(int more) {
  static const char path[] = "/proc/self/oom_score_adj";
  char text[16] = "";
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  ssize_t count = read(file, text, sizeof text - 1);
  int status = count < 0 ? errno : 0;
  close(file);
  if (status) return status;
  int score = atoi(text) + more;
  snprintf(text, sizeof text, "%d", score > 1000 ? 1000 : score);
  return confine_write(path, text);
}

int confine_capabilities(int all) {
  static const int looking[] = {16 /* SYS_MODULE */, 17 /* SYS_RAWIO */, 19 /* SYS_PTRACE */, 21 /* SYS_ADMIN */, 38 /* PERFMON */, 39 /* BPF */};
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct now[2];
  memset(now, 0, sizeof now);
  if (syscall(SYS_capget, &head, now)) return errno;
  /* Where capset() is forbidden there is often nothing to drop. */
  if (!now[0].permitted && !now[1].permitted) return 0;
  if (all) memset(now, 0, sizeof now);
  for (size_t k = 0; k < sizeof looking / sizeof *looking; k++) {
    unsigned keep = ~(1u << looking[k] % 32);
    struct __user_cap_data_struct *half = now + looking[k] / 32;
    half->permitted &= keep, half->effective &= keep, half->inheritable &= keep;
  }
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return syscall(SYS_capset, &head, now) ? errno : 0;
}

/* ---- Namespaces ---- */

int confine_namespaces(void) {
  char map[64];
  unsigned user = (unsigned)geteuid(), group = (unsigned)getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC)) return errno;
  /* Without a map everything belongs to nobody here, which harms nothing. */
  (void)confine_write("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", user, user);
  (void)confine_write("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", group, group);
  (void)confine_write("/proc/self/gid_map", map);
  return 0;
}

/* ---- Landlock: the system's own header may be older than the kernel ---- */

int landlock_version(void) {
  long version = syscall(444, NULL, (size_t)0, 1);
  return version > 0 ? (int)version : 0;
}

uint64_t landlock_files(int version) {
  if (version >= 5) return (1ULL << 16) - 1;
  if (version >= 3) return (1ULL << 15) - 1;
  return version == 2 ? (1ULL << 14) - 1 : (1ULL << 13) - 1;
}
uint64_t landlock_network(int version) { return version >= 4 ? 3 : 0; }
uint64_t landlock_signals(int version) { return version >= 6 ? 2 : 0; }
uint64_t landlock_sockets(int version) { return version >= 6 ? 1 : 0; }

int landlock_begin(uint64_t files, uint64_t network, uint64_t scopes) {
  struct { uint64_t files, network, scopes; } set = {files, network, scopes};
  size_t size = scopes ? 24 : network ? 16 : 8;
  long made = syscall(444, &set, size, 0);
  if (made >= 0) (void)fcntl((int)made, F_SETFD, FD_CLOEXEC);
  return (int)made;
}

int landlock_allow(int set, const char *path, uint64_t rights) {
  int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return 0;
  struct stat facts;
  int status = 0;
  if (fstat(place, &facts) == 0) {
    /* Rights to folders are wrong for files. */
    if (!S_ISDIR(facts.st_mode)) rights &= LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE;
    struct __attribute__((packed)) { uint64_t rights; int32_t place; } rule = {rights, place};
    if (syscall(445, set, 1, &rule, 0)) status = errno;
  }
  close(place);
  return status;
}

int landlock_enter(int set) {
  int status = syscall(446, set, 0) ? errno : 0;
  close(set);
  return status;
}
