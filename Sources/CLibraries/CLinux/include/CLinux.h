#ifndef SIGNALBOX_CLINUX_H
#define SIGNALBOX_CLINUX_H
/* Linux calls that Swift's Glibc lacks: variadic ones, and those for GNU sources only.
 *
 * No header of the C library here but those that Swift's Glibc does not have: a struct that is in both modules belongs
 * to the one that the compiler reads first, and code that imports the other does not compile then. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* Kills this process with SIGKILL as soon as the thread that started it ends. */
int linux_die_with_parent(void);
/* Names the calling thread; the system keeps the first 15 bytes. */
void linux_name_thread(const char *name);
/* Gives the calling thread a stack for signal handlers, in case that it has used up its own; NULL: it has one, or there is
 * no memory. linux_end_signal_stack() takes it back. */
void *linux_signal_stack(void);
void linux_end_signal_stack(void *stack);
/* Closes the descriptors from `first` on in a program to be started; `actions` is a posix_spawn_file_actions_t. */
int linux_spawn_close_from(void *actions, int first);
/* A pair of connected stream sockets that programs started later do not inherit. */
int linux_socket_pair(int ends[2]);
/* A descriptor that poll() says can be read once this child has ended; -1: the system has none. */
int linux_child_end(int pid);
/* Kills what is left of the process group of a child that has ended, but was not waited for; nothing, while it runs. */
void linux_kill_group_of_ended(int pid);
/* A counter that poll() can wait for. */
int linux_bell(void);
/* A file in memory that programs started later do not inherit, and that can be sealed. */
int linux_memory_file(const char *name);
/* Makes the file read-only for everybody, this process included. Returns 0 or -1. */
int linux_seal(int file);
/* Sends as many bytes as fit, without waiting; -1: none now, -2: the peer is gone. */
long linux_send_now(int socket, const void *bytes, size_t count);
/* Receives the available bytes, without waiting; -1: none now, 0 or -2: the peer is gone. */
long linux_receive_now(int socket, void *bytes, size_t room);

/* ---- What makes a process smaller before a plugin's code runs in it. Each returns 0 or an errno. ---- */

/* Nothing that this process starts can gain rights. Needed by Landlock and seccomp. */
int confine_privileges(void);
/* No core file, and the files below /proc of this process belong to root. */
int confine_dumps(void);
/* Limits, which are lowered and never raised. */
int confine_cores(void);
int confine_files(uint64_t most);
/* Memory that it can write and shares with nobody: heap, stacks of threads, data. No limit under a sanitizer. */
int confine_memory(uint64_t most);
/* If memory runs out, the kernel ends this process before others that have the score of its parent. */
int confine_survival(int more);
/* Counts the threads and processes of a user, so it means something in a user namespace of its own. */
int confine_threads(uint64_t most);
/* Drops all capabilities, or those that lead around the rules for memory of other processes and of the kernel. For
 * good: no program that is started later has more than its parent, thanks to no_new_privs. */
int confine_capabilities(int all);
/* A user namespace with this user alone, and a network and System V objects of its own. The process must have
 * one thread. */
int confine_namespaces(void);
/* Puts the process under the filter of system calls, for good. */
int seccomp_enter(void);
/* This thread, and those that it will start, start no process: fork() fails with EAGAIN, for root as well, whom
 * RLIMIT_NPROC does not hold. `attempts`, unless it is NULL: a descriptor for seccomp_refuse_attempts(), or -1.
 * `sanitized`: LeakSanitizer may do its work. */
int seccomp_no_processes(int sanitized, int *attempts);
/* Refuses every attempt to start a process, and rings a linux_bell() for each. It allocates nothing: a thread in fork() holds
 * the locks of the allocator until it is answered. */
int seccomp_refuse_attempts(int attempts, int bell);

/* ---- Landlock ---- */

#define LL_EXECUTE (1ULL << 0)
#define LL_WRITE_FILE (1ULL << 1)
#define LL_READ_FILE (1ULL << 2)
#define LL_READ_DIR (1ULL << 3)
#define LL_MAKE_BLOCK (1ULL << 11)
#define LL_REFER (1ULL << 13)

/* The version that the kernel offers, or 0. */
int landlock_version(void);
/* Every right to files that this version knows. */
uint64_t landlock_files(int version);
/* TCP: to bind and to connect. */
uint64_t landlock_network(int version);
/* Abstract sockets and signals outside of the domain. */
uint64_t landlock_signals(int version);
uint64_t landlock_sockets(int version);
/* A set of rules that takes these rights away. Returns a descriptor or -1. */
int landlock_begin(uint64_t files, uint64_t network, uint64_t scopes);
/* Gives rights back below a path. A path that does not exist is skipped. Returns 0 or an errno. */
int landlock_allow(int set, const char *path, uint64_t rights);
/* Puts this thread, and those that it will start, under the rules. Returns 0 or an errno. */
int landlock_enter(int set);

#endif
