/* signalbox/types.h - the types and rules that all other headers of the contract share.
 *
 * THREAD TAGS, on every function of the contract
 *   [control]  one call at a time for one instance; may block for seconds. One that takes over 30 s fails.
 *   [worker]   any thread of the host, several at once (unless SBX_F_SERIAL); must not block. The host names one that
 *              takes over a second, and gives an instance with 16 slow calls no more events.
 *   [any]      any thread, any time between the start of create() and the return of stop().
 * A tag on a plugin's function says how the host calls it; a tag on a host's function says from
 * where a plugin may call it. The host holds no lock while it calls a plugin and never calls
 * back into an instance from inside a service call that is tagged [worker] or [any].
 *
 * STATE TAGS, on every function of a plugin: when the host may call it.
 *   [none]     there is no instance: create() has not returned OK yet.
 *   [created]  create() returned OK; start() was not called yet, or it failed.
 *   [started]  start() returned OK; stop() was not called yet.
 *   [stopped]  stop() returned OK.
 *   [always]   whether there are instances or not.
 * A start() or stop() that is NULL counts as one that returns OK at once. After a start() that failed
 * only destroy() is called, after a stop() that failed nothing. What a plugin gives to a service to be
 * called (timers, answers, watches) is called between the start of create() and the return of stop(), or
 * the call of destroy() where there is no stop().
 *
 * IDS of roles and services
 *   "sbx." is this contract's. Others begin with a name that their author owns: "com.example.queue/1". An
 *   id that begins with "draft/" may change or end with any release of the host: keep it out of `needs`
 *   of what you publish.
 *
 * OWNERSHIP, wherever a comment says nothing else
 *   Who allocates frees. Every pointer handed over is borrowed until the call returns; whoever
 *   needs it longer copies it. A failing call leaves its outputs alone.
 *
 * TEXT is UTF-8 with a length and without a NUL; only `const char *` has one. Empty text is
 * {NULL, 0} or any pointer with length 0; both mean "not given".
 *
 * GROWTH
 *   Every struct that may grow begins with struct_size, the size its builder was compiled with.
 *   Fields are appended, never inserted, changed or reused; readers test with SBX_HAS. Arrays of
 *   such structs travel with a stride and are walked with SBX_AT; a stride is at least the struct_size
 *   of each element, also of a single one. The host refuses (INVALID) a struct that is smaller than
 *   in 1.0 or larger than in the minor that the plugin names. No struct that may grow is
 *   embedded in another. Reserved fields are written as 0 and not read.
 *
 * Targets are 64-bit. Since 1.0 unless a comment says otherwise. */
#ifndef SIGNALBOX_TYPES_H
#define SIGNALBOX_TYPES_H
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != 0xffffffffffffffffu
#error "the Signalbox plugin contract is defined for 64-bit targets"
#endif

#define SBX_ABI_MAJOR 1u
#define SBX_ABI_MINOR 1u

#define SBX_EXPORT __attribute__((visibility("default")))

/* Did the side that built *p know field f? */
#define SBX_HAS(p, f) \
  ((p)->struct_size >= offsetof(__typeof__(*(p)), f) + sizeof((p)->f))

/* Element i of an array whose elements are `stride` bytes apart: SBX_AT(sbx_delivery, d, i, stride). */
#define SBX_AT(type, base, i, stride) \
  ((const type *)(const void *)((const char *)(const void *)(base) + (size_t)(i) * (stride)))

/* These two are frozen for ever. */
typedef struct sbx_str {
  const char *ptr;
  size_t len;
} sbx_str;

typedef struct sbx_kv {
  sbx_str key, value;
} sbx_kv;

/* The result of a call. Append-only; treat a value you do not know as SBX_E_INTERNAL. */
typedef int32_t sbx_status;
#define SBX_OK            ((sbx_status)0)
#define SBX_E_INTERNAL    ((sbx_status)-1)  /* a fault of the side that answers */
#define SBX_E_VERSION     ((sbx_status)-2)  /* the two sides share no version */
#define SBX_E_INVALID     ((sbx_status)-3)  /* an argument, a config or a body is malformed */
#define SBX_E_UNSUPPORTED ((sbx_status)-4)  /* well-formed, but not offered */
#define SBX_E_AGAIN       ((sbx_status)-5)  /* not now: no room, or a credential is on its way */
#define SBX_E_TIMEOUT     ((sbx_status)-6)  /* the deadline passed; whether it happened is unknown */
#define SBX_E_AUTH        ((sbx_status)-7)  /* a signature, a password or a token is wrong */
#define SBX_E_NOT_FOUND   ((sbx_status)-8)  /* no such key, secret, member or element */
#define SBX_E_TOO_LARGE   ((sbx_status)-9)  /* over a limit; an in/out length now holds the required size */
#define SBX_E_UNREACHABLE ((sbx_status)-10) /* no connection was made, so nothing was sent */
#define SBX_E_LOST        ((sbx_status)-11) /* the connection broke; whether it happened is unknown */
#define SBX_E_STOPPING    ((sbx_status)-12) /* the host is shutting down or the instance is stopped */

/* Why a call failed, for people. The caller allocates and sets struct_size; nothing to free.
 * The host never passes NULL to a plugin; a plugin may pass NULL to a service. Who fails writes message
 * and, if there is one, provider_code. The status that counts is the one that the call returns: services
 * write it to `status`, too; what a plugin writes there is not read. After OK all of it means nothing.
 * Never put a secret, a device token or a message body in it: the host logs it. */
typedef struct sbx_error {
  uint32_t struct_size;
  sbx_status status;       /* as the failing call returned it; see above */
  uint32_t provider_code;  /* HTTP status or the provider's own number, else 0 */
  char message[244];       /* NUL-terminated; longer text is cut at a character boundary */
} sbx_error;

typedef struct sbx_instance sbx_instance;  /* a plugin with a config; defined by the plugin */

#endif
