#include "resolve.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Lifetime of a lookup: a server may move, and a burst of new connections must cost one lookup. */
#define FRESH_NS 30000000000u

bool smtp_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes)) return false;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  int failed = pthread_cond_init(cond, &attributes);
  pthread_condattr_destroy(&attributes);
  return !failed;
}

bool smtp_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns) {
  struct timespec until = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
  if (smtp_now_ns() >= deadline_ns) return false;
  return pthread_cond_timedwait(cond, lock, &until) == 0;
}

bool smtp_thread_start(pthread_t *thread, void *(*body)(void *), void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(thread, NULL, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !failed;
}

static bool look_up(const char *host, uint32_t port, int flags, smtp_addresses *out) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV}, *found = NULL;
  char service[8];
  snprintf(service, sizeof service, "%u", port & 0xFFFF);
  out->count = 0;
  if (getaddrinfo(host, service, &hints, &found)) return false;
  for (struct addrinfo *one = found; one && out->count < 8; one = one->ai_next) {
    memcpy(&out->list[out->count], one->ai_addr, one->ai_addrlen);
    out->lengths[out->count++] = one->ai_addrlen;
  }
  freeaddrinfo(found);
  return out->count > 0;
}

/* The thread: looks up the name whenever a worker waits for it. */
static void *run(void *argument) {
  smtp_resolver *resolver = argument;
  smtp_addresses found;
  pthread_mutex_lock(&resolver->lock);
  while (!resolver->is_stopping) {
    if (!resolver->is_wanted) {
      pthread_cond_wait(&resolver->changed, &resolver->lock);
      continue;
    }
    pthread_mutex_unlock(&resolver->lock);
    look_up(resolver->host, resolver->port, AI_ADDRCONFIG, &found);
    pthread_mutex_lock(&resolver->lock);
    resolver->addresses = found;
    resolver->fresh_until_ns = found.count ? smtp_now_ns() + FRESH_NS : 0;
    resolver->is_wanted = false;
    resolver->lookups++;
    pthread_cond_broadcast(&resolver->changed);
  }
  resolver->has_ended = true;
  pthread_cond_broadcast(&resolver->changed);
  pthread_mutex_unlock(&resolver->lock);
  return NULL;
}

bool smtp_resolver_init(smtp_resolver *resolver, const char *host, uint32_t port) {
  resolver->host = host;
  resolver->port = port;
  /* An IP address needs neither a lookup nor a thread. */
  if (look_up(host, port, AI_NUMERICHOST, &resolver->addresses)) resolver->fresh_until_ns = UINT64_MAX;
  if (pthread_mutex_init(&resolver->lock, NULL)) return false;
  if (smtp_cond_init(&resolver->changed)) return true;
  pthread_mutex_destroy(&resolver->lock);
  return false;
}

smtp_io smtp_resolve(smtp_resolver *resolver, smtp_addresses *out, uint64_t deadline_ns) {
  smtp_io io = SMTP_IO_OK;
  pthread_mutex_lock(&resolver->lock);
  uint64_t lookups = resolver->lookups;
  while (io == SMTP_IO_OK && smtp_now_ns() >= resolver->fresh_until_ns) {
    if (resolver->is_stopping) {
      io = SMTP_IO_STOPPED;
    } else if (resolver->lookups != lookups) {
      io = SMTP_IO_LOST;
    } else if (!resolver->is_running && !smtp_thread_start(&resolver->thread, run, resolver)) {
      io = SMTP_IO_LOST;
    } else {
      resolver->is_running = true;
      if (!resolver->is_wanted) pthread_cond_broadcast(&resolver->changed);
      resolver->is_wanted = true;
      if (!smtp_cond_wait(&resolver->changed, &resolver->lock, deadline_ns)) io = SMTP_IO_TIMEOUT;
    }
  }
  *out = resolver->addresses;
  pthread_mutex_unlock(&resolver->lock);
  return io;
}

void smtp_resolver_stop(smtp_resolver *resolver) {
  pthread_mutex_lock(&resolver->lock);
  resolver->is_stopping = true;
  pthread_cond_broadcast(&resolver->changed);
  pthread_mutex_unlock(&resolver->lock);
}

bool smtp_resolver_join(smtp_resolver *resolver, uint64_t deadline_ns) {
  pthread_mutex_lock(&resolver->lock);
  while (resolver->is_running && !resolver->has_ended &&
         smtp_cond_wait(&resolver->changed, &resolver->lock, deadline_ns)) {
  }
  bool is_over = !resolver->is_running || resolver->has_ended;
  pthread_mutex_unlock(&resolver->lock);
  if (is_over && resolver->is_running) pthread_join(resolver->thread, NULL);
  if (is_over) resolver->is_running = false;
  return is_over;
}

void smtp_resolver_free(smtp_resolver *resolver) {
  pthread_cond_destroy(&resolver->changed);
  pthread_mutex_destroy(&resolver->lock);
}
