// Swift's Mutex, as ThreadSanitizer can see it.
//
// Synchronization.Mutex is a futex with priority inheritance. What happens without contention is inlined into our own
// code, which is instrumented. With contention the kernel passes the lock from one thread to the next, in functions of
// libswiftSynchronization.so, which is not instrumented: every use of a contended lock would be reported as a race.
// This library is loaded before that one (LD_PRELOAD). Its functions make the same system calls, and say what they mean.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// From the program's runtime. Weak, because programs without it that the tests start load this library, too.
__attribute__((weak)) void __tsan_acquire(void *word);
__attribute__((weak)) void __tsan_release(void *word);

SWIFT void lock_slow(uint32_t thread, SELF uint32_t *word)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT bool try_lock_slow(SELF uint32_t *word) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT void unlock_slow(SELF uint32_t *word) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

static int futex(uint32_t *word, int operation) {
    long status;
    do {
        status = syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, 0, NULL);
    } while (status != 0 && (errno == EINTR || (errno == EAGAIN && operation == FUTEX_LOCK_PI)));
    return status == 0 ? 0 : errno;
}

static _Noreturn void misused(const char *what, int code) {
    fprintf(stderr, "Mutex: %s: %s\n", what, strerror(code));
    abort();
}

static void taken(uint32_t *word) {
    if (__tsan_acquire) __tsan_acquire(word);
}

SWIFT void lock_slow(uint32_t thread, SELF uint32_t *word) {
    (void)thread;
    int code = futex(word, FUTEX_LOCK_PI);
    if (code != 0) misused("it cannot be locked", code);
    taken(word);
}

SWIFT bool try_lock_slow(SELF uint32_t *word) {
    if (futex(word, FUTEX_TRYLOCK_PI) != 0) return false;
    taken(word);
    return true;
}

SWIFT void unlock_slow(SELF uint32_t *word) {
    if (__tsan_release) __tsan_release(word);
    int code = futex(word, FUTEX_UNLOCK_PI);
    if (code != 0) misused("it cannot be unlocked", code);
}
