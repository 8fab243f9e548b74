/* resolve.h - the server's addresses. getaddrinfo() has no deadline, so names are looked up on a separate
 * thread, and workers wait for it until their own deadline. */
#ifndef SMTP_RESOLVE_H
#define SMTP_RESOLVE_H
#include <pthread.h>
#include "transport.h"

typedef struct smtp_resolver {
  const char *host;
  uint32_t port;
  pthread_mutex_t lock;
  pthread_cond_t changed;  /* CLOCK_MONOTONIC */
  pthread_t thread;
  bool is_running, is_wanted, is_stopping;
  bool has_ended;          /* the thread has finished; joining it does not block */
  smtp_addresses addresses;
  uint64_t fresh_until_ns;
  uint64_t lookups;        /* finished lookups */
} smtp_resolver;

bool smtp_resolver_init(smtp_resolver *resolver, const char *host, uint32_t port);
/* Gets the addresses: SMTP_IO_OK, TIMEOUT, LOST (there are none), STOPPED. */
smtp_io smtp_resolve(smtp_resolver *resolver, smtp_addresses *out, uint64_t deadline_ns);
/* Wakes all waiting threads, and makes later calls return at once. */
void smtp_resolver_stop(smtp_resolver *resolver);
/* False if a lookup is still running at the deadline. */
bool smtp_resolver_join(smtp_resolver *resolver, uint64_t deadline_ns);
void smtp_resolver_free(smtp_resolver *resolver);

/* A condition variable on the monotonic clock, and a wait for it; false if the deadline passed. */
bool smtp_cond_init(pthread_cond_t *cond);
bool smtp_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);
/* Starts a thread with all signals blocked. */
bool smtp_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
