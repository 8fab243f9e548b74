#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SECCOMP_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SECCOMP_MACHINE AUDIT_ARCH_AARCH64
#endif

/* The system calls of a plugin in a sandbox. Everything that is not named here fails with EPERM. */

/* What a translator needs, the frequent ones first. Old calls that aarch64 does not have are below. */
static const uint32_t seccomp_allowed[] = {
    /* the socket to the gateway, and descriptors that are open */
    SYS_futex, SYS_sendto, SYS_recvfrom, SYS_read, SYS_write, SYS_ppoll, SYS_shutdown, SYS_close, SYS_readv, SYS_writev,
    SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_lseek, SYS_dup, SYS_dup3, SYS_pipe2, SYS_eventfd2, SYS_pselect6,
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,
    SYS_signalfd4, SYS_getsockopt, SYS_getsockname, SYS_getpeername, SYS_close_range,
    /* time and chance */
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_times, SYS_getrandom,
    /* memory */
    SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_membarrier, SYS_ftruncate,
    /* threads and their signals */
    SYS_exit, SYS_exit_group, SYS_gettid, SYS_getpid, SYS_getppid, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq,
    SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getpriority, SYS_getcpu, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_sigaltstack,
    SYS_restart_syscall,
    /* files: Landlock says which */
    SYS_openat, SYS_newfstatat, SYS_fstat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_getdents64, SYS_readlinkat, SYS_faccessat,
    SYS_faccessat2, SYS_getcwd, SYS_flock, SYS_fadvise64,
    /* who and where */
    SYS_uname, SYS_sysinfo, SYS_getrusage, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getresuid,
    SYS_getresgid, SYS_getpgid, SYS_getsid, SYS_getrlimit, SYS_capget, SYS_umask,
#if defined(__x86_64__)
    SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait, SYS_dup2, SYS_pipe, SYS_eventfd, SYS_time, SYS_arch_prctl, SYS_open,
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_getpgrp,
#endif
};

/* No honest translator does these, so whoever does is ended on the spot. */
static const uint32_t seccomp_deadly[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_execve, SYS_execveat, SYS_mount, SYS_umount2, SYS_pivot_root,
    SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_bpf, SYS_keyctl, SYS_add_key,
    SYS_request_key, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_setns, SYS_unshare, SYS_reboot,
    SYS_swapon, SYS_swapoff, SYS_open_by_handle_at, 438 /* pidfd_getfd */,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm,
#endif
};

/* Allowed with these values of an argument only. */
static const struct { uint32_t call, argument, value; } seccomp_narrow[] = {
    {SYS_fcntl, 1, F_DUPFD}, {SYS_fcntl, 1, F_GETFD}, {SYS_fcntl, 1, F_SETFD}, {SYS_fcntl, 1, F_GETFL}, {SYS_fcntl, 1, F_SETFL},
    {SYS_fcntl, 1, 1030 /* F_DUPFD_CLOEXEC */},
    {SYS_ioctl, 1, FIONREAD}, {SYS_ioctl, 1, FIONBIO}, {SYS_ioctl, 1, FIOCLEX},
    {SYS_prctl, 0, PR_SET_NAME}, {SYS_prctl, 0, PR_GET_NAME}, {SYS_prctl, 0, PR_GET_DUMPABLE},
    {SYS_prctl, 0, PR_GET_NO_NEW_PRIVS}, {SYS_prctl, 0, 0x53564d41 /* PR_SET_VMA */},
    /* Of this process, not of the gateway. */
    {SYS_prlimit64, 0, 0},
};

struct seccomp_program {
  struct sock_filter code[1024];
  unsigned short count;
};

static void seccomp_add(struct seccomp_program *p, uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
  struct sock_filter one = {code, yes, no, value};
  if (p->count < sizeof p->code / sizeof *p->code) p->code[p->count] = one;
  p->count++;
}
static void seccomp_load(struct seccomp_program *p, size_t place) {
  seccomp_add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)place, 0, 0);
}
static void seccomp_end(struct seccomp_program *p, uint32_t verdict) { seccomp_add(p, BPF_RET | BPF_K, verdict, 0, 0); }
/* If the loaded word is `value`, ends with `verdict`. */
static void seccomp_if(struct seccomp_program *p, uint32_t value, uint32_t verdict) {
  seccomp_add(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
  seccomp_end(p, verdict);
}
/* The low half of an argument: what the kernel looks at, for the arguments here. */
static size_t seccomp_argument(uint32_t number) { return offsetof(struct seccomp_data, args) + 8 * number; }

/* A call whose argument must be `value`; leaves the call's number loaded. */
static void seccomp_only(struct seccomp_program *p, uint32_t call, uint32_t argument, uint32_t value) {
  seccomp_add(p, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
  seccomp_load(p, seccomp_argument(argument));
  seccomp_if(p, value, SECCOMP_RET_ALLOW);
  seccomp_load(p, offsetof(struct seccomp_data, nr));
}

int seccomp_enter(void) {
#ifndef SECCOMP_MACHINE
  return ENOSYS;
#else
  static struct seccomp_program p;
  p.count = 0;
  seccomp_load(&p, offsetof(struct seccomp_data, arch));
  seccomp_add(&p, BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_MACHINE, 1, 0);
  seccomp_end(&p, SECCOMP_RET_KILL_PROCESS);
  seccomp_load(&p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  /* The calls of x32, which have numbers of their own. */
  seccomp_add(&p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  seccomp_end(&p, SECCOMP_RET_KILL_PROCESS);
#endif
  for (size_t k = 0; k < sizeof seccomp_allowed / sizeof *seccomp_allowed; k++)
    seccomp_if(&p, seccomp_allowed[k], SECCOMP_RET_ALLOW);
  for (size_t k = 0; k < sizeof seccomp_deadly / sizeof *seccomp_deadly; k++)
    seccomp_if(&p, seccomp_deadly[k], SECCOMP_RET_KILL_PROCESS);
  for (size_t k = 0; k < sizeof seccomp_narrow / sizeof *seccomp_narrow; k++)
    seccomp_only(&p, seccomp_narrow[k].call, seccomp_narrow[k].argument, seccomp_narrow[k].value);
  /* Signals to this process alone. */
  seccomp_only(&p, SYS_tgkill, 0, (uint32_t)getpid());
  seccomp_only(&p, SYS_kill, 0, (uint32_t)getpid());
  /* Memory, but none that is shared and of no file: the limit of memory does not count it. */
  seccomp_add(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5);
  seccomp_load(&p, seccomp_argument(3));
  seccomp_add(&p, BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 2);
  seccomp_add(&p, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1);
  seccomp_end(&p, SECCOMP_RET_ERRNO | EPERM);
  seccomp_end(&p, SECCOMP_RET_ALLOW);
  /* Threads, and no processes: CLONE_THREAD. clone3() has its flags in memory, which no filter sees; the C library
   * takes clone() if there is none. */
  seccomp_add(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
  seccomp_load(&p, seccomp_argument(0));
  seccomp_add(&p, BPF_JMP | BPF_JSET | BPF_K, 0x00010000, 0, 1);
  seccomp_end(&p, SECCOMP_RET_ALLOW);
  seccomp_end(&p, SECCOMP_RET_ERRNO | EPERM);
  /* Nobody needs it, and libdispatch complains where it fails: it does nothing. */
  seccomp_if(&p, SYS_setpriority, SECCOMP_RET_ERRNO | 0);
  seccomp_if(&p, 435 /* clone3 */, SECCOMP_RET_ERRNO | ENOSYS);
  /* Libraries try calls that are newer than this list, and do without them if there are none. */
  seccomp_add(&p, BPF_JMP | BPF_JGE | BPF_K, 462, 0, 1);
  seccomp_end(&p, SECCOMP_RET_ERRNO | ENOSYS);
  seccomp_end(&p, SECCOMP_RET_ERRNO | EPERM);
  if (p.count > sizeof p.code / sizeof *p.code) return E2BIG;
  struct sock_fprog program = {p.count, p.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? errno : 0;
#endif
}

/* ---- No processes: for a plugin that is examined ---- */

/* CLONE_THREAD, and what LeakSanitizer starts at the end: CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED. */
#define SECCOMP_THREAD 0x00010000u
#define SECCOMP_LEAK_SEARCH 0x00800700u

#ifdef SECCOMP_MACHINE
static void seccomp_threads_only(struct seccomp_program *p, int sanitized, uint32_t refusal) {
  p->count = 0;
  seccomp_load(p, offsetof(struct seccomp_data, arch));
  seccomp_add(p, BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_MACHINE, 1, 0);
  seccomp_end(p, SECCOMP_RET_KILL_PROCESS);
  seccomp_load(p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  seccomp_add(p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  seccomp_end(p, SECCOMP_RET_KILL_PROCESS);
  seccomp_if(p, SYS_fork, refusal);
  seccomp_if(p, SYS_vfork, refusal);
#endif
  seccomp_if(p, 435 /* clone3 */, SECCOMP_RET_ERRNO | ENOSYS);
  seccomp_add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0);
  seccomp_end(p, SECCOMP_RET_ALLOW);
  seccomp_load(p, seccomp_argument(0));
  if (sanitized) seccomp_if(p, SECCOMP_LEAK_SEARCH, SECCOMP_RET_ALLOW);
  seccomp_add(p, BPF_JMP | BPF_JSET | BPF_K, SECCOMP_THREAD, 0, 1);
  seccomp_end(p, SECCOMP_RET_ALLOW);
  seccomp_end(p, refusal);
}
#endif

int seccomp_no_processes(int sanitized, int *attempts) {
#ifndef SECCOMP_MACHINE
  return (void)sanitized, (void)attempts, ENOSYS;
#else
  static struct seccomp_program p;
  struct sock_fprog program = {0, p.code};
  if (attempts) {
    seccomp_threads_only(&p, sanitized, SECCOMP_RET_USER_NOTIF);
    program.len = p.count;
    /* Linux 5.0. */
    long made = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    *attempts = (int)made;
    if (made >= 0) return 0;
  }
  seccomp_threads_only(&p, sanitized, SECCOMP_RET_ERRNO | EAGAIN);
  program.len = p.count;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? errno : 0;
#endif
}

int seccomp_refuse_attempts(int attempts, int bell) {
  for (;;) {
    struct seccomp_notif asked;
    memset(&asked, 0, sizeof asked);
    if (ioctl(attempts, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) {
      struct seccomp_notif_resp answer = {.id = asked.id, .error = -EAGAIN};
      (void)ioctl(attempts, SECCOMP_IOCTL_NOTIF_SEND, &answer);
      uint64_t one = 1;
      (void)!write(bell, &one, sizeof one);
      continue;
    }
    /* ENOENT: who asked has ended. */
    if (errno != EINTR && errno != ENOENT) return errno;
  }
}
