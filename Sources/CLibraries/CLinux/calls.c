#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int linux_die_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

void linux_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }

/* Room for the registers of any processor, and for a handler that writes a line. */
enum { linux_signal_stack_bytes = 64 * 1024 };

void *linux_signal_stack(void) {
  stack_t now;
  if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE)) return NULL;
  void *room = mmap(NULL, linux_signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return NULL;
  stack_t made = {.ss_sp = room, .ss_size = linux_signal_stack_bytes};
  if (sigaltstack(&made, NULL) == 0) return room;
  (void)munmap(room, linux_signal_stack_bytes);
  return NULL;
}

void linux_end_signal_stack(void *stack) {
  stack_t none = {.ss_flags = SS_DISABLE};
  if (stack && sigaltstack(&none, NULL) == 0) (void)munmap(stack, linux_signal_stack_bytes);
}

int linux_spawn_close_from(void *actions, int first) { return posix_spawn_file_actions_addclosefrom_np(actions, first); }

int linux_socket_pair(int ends[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }

int linux_child_end(int pid) { return (int)syscall(434 /* pidfd_open */, pid, 0); }

void linux_kill_group_of_ended(int pid) {
  siginfo_t info = {.si_pid = 0};
  if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != pid) return;
  /* Until it is waited for, no other group can have its number. */
  (void)kill(-pid, SIGKILL);
}

int linux_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int linux_seal(int file) {
  return fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

long linux_send_now(int socket, const void *bytes, size_t count) {
  for (;;) {
    ssize_t sent = send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
  }
}

long linux_receive_now(int socket, void *bytes, size_t room) {
  for (;;) {
    ssize_t got = recv(socket, bytes, room, MSG_DONTWAIT);
    if (got >= 0) return got;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
  }
}
