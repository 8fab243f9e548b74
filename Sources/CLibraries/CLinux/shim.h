#ifndef SIGNALBOX_CLINUX_H
#define SIGNALBOX_CLINUX_H
/* Linux calls that Swift's Glibc lacks: variadic ones, and those of small headers. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kills this process with SIGKILL as soon as the thread that started it ends. */
static inline int linux_die_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

/* Names the calling thread; the system keeps the first 15 bytes. */
static inline void linux_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }

/* Closes the descriptors from `first` on in a program to be started. (glibc 2.34; declared
 * for GNU sources only.) */
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
static inline int linux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

/* A pair of connected stream sockets that programs started later do not inherit. */
static inline int linux_socket_pair(int ends[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }

/* A counter that poll() can wait for. */
static inline int linux_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/* A file in memory that programs started later do not inherit, and that can be sealed. (The call
 * has a wrapper for GNU sources only.) */
static inline int linux_memory_file(const char *name) {
  return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* Makes the file read-only for everybody, this process included. Returns 0 or -1. */
static inline int linux_seal(int file) {
  /* F_ADD_SEALS with F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE; defined for GNU sources only. */
  return fcntl(file, 1033, 0xF);
}

/* Sends as many bytes as fit, without waiting; -1: none now, -2: the peer is gone. */
static inline long linux_send_now(int socket, const void *bytes, size_t count) {
  for (;;) {
    ssize_t sent = send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
  }
}

/* Receives the available bytes, without waiting; -1: none now, 0 or -2: the peer is gone. */
static inline long linux_receive_now(int socket, void *bytes, size_t room) {
  for (;;) {
    ssize_t got = recv(socket, bytes, room, MSG_DONTWAIT);
    if (got >= 0) return got;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
  }
}

#endif
