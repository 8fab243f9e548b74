/* plugin.c - SMTP: the library's description, and the life cycle of an instance. */
#include "instance.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void destroy(sbx_instance *i) {
  if (i->has_locks) {
    smtp_resolver_free(&i->resolver);
    pthread_cond_destroy(&i->changed);
    pthread_mutex_destroy(&i->lock);
  }
  for (int k = 0; k < 2; k++)
    if (i->stop_pipe[k] >= 0) close(i->stop_pipe[k]);
  smtp_config_free(&i->config);
  SSL_CTX_free(i->tls);
  BIO_meth_free(i->bio);
  free(i->workers);
  free(i);
}

static bool make_locks(sbx_instance *i) {
  if (pthread_mutex_init(&i->lock, NULL)) return false;
  if (smtp_cond_init(&i->changed)) {
    if (smtp_resolver_init(&i->resolver, i->config.host, i->config.port)) return i->has_locks = true;
    pthread_cond_destroy(&i->changed);
  }
  pthread_mutex_destroy(&i->lock);
  return false;
}

static sbx_status make(sbx_instance *i, sbx_str config, sbx_error *error) {
  sbx_status status = smtp_config_read(i->host, config, &i->config, error);
  if (status != SBX_OK) return status;
  i->tls = smtp_tls_make(i->config.ca_file);
  if (!i->tls)
    return smtp_refuse(error, SBX_E_INVALID, i->config.ca_file[0] ? "ca_file is not a readable file of PEM certificates"
                                                                  : "TLS cannot be set up");
  i->bio = smtp_bio_make();
  i->workers = calloc(i->config.connections_max, sizeof *i->workers);
  if (!i->bio || !i->workers || pipe(i->stop_pipe) || !make_locks(i))
    return smtp_refuse(error, SBX_E_INTERNAL, "no memory, or too many open files");
  for (int k = 0; k < 2; k++) fcntl(i->stop_pipe[k], F_SETFD, FD_CLOEXEC);
  i->last = &i->first;
  i->capacity = (size_t)i->config.connections_max * SMTP_QUEUE_PER_CONNECTION;
  return SBX_OK;
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->stop_pipe[0] = i->stop_pipe[1] = -1;
  i->host = host;
  i->clock = host->service(host, SBX_SVC_CLOCK);
  i->log = host->service(host, SBX_SVC_LOG);
  i->secrets = host->service(host, SBX_SVC_SECRETS);
  i->send = host->service(host, SBX_SVC_SEND_HOST);
  sbx_status status = make(i, config, error);
  if (status == SBX_OK) *out = i;
  else destroy(i);
  return status;
}

/* A new password may be tried at once. */
static void password_changed(void *context) {
  sbx_instance *i = context;
  pthread_mutex_lock(&i->lock);
  i->hold_until_ns = 0;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}

static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  uint64_t now = smtp_now_ns();
  uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  uint64_t for_the_end = left / 4 < 500000000u ? left / 4 : 500000000u;
  smtp_resolver_stop(&i->resolver);
  pthread_mutex_lock(&i->lock);
  i->phase = SMTP_DRAINING;
  pthread_cond_broadcast(&i->changed);
  while (i->alive && smtp_cond_wait(&i->changed, &i->lock, now + left - for_the_end)) {
  }
  i->phase = SMTP_ABORTED;
  pthread_cond_broadcast(&i->changed);
  close(i->stop_pipe[1]);
  i->stop_pipe[1] = -1;
  while (i->alive && smtp_cond_wait(&i->changed, &i->lock, deadline_ns)) {
  }
  bool is_over = !i->alive;
  pthread_mutex_unlock(&i->lock);

  smtp_verdict stopping = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "stopping", "not sent");
  for (smtp_job *job = smtp_queue_take_all(i), *next; job; job = next) {
    next = job->next;
    smtp_settle(i, job->id, &stopping);
    smtp_job_free(job);
  }
  for (uint32_t k = 0; is_over && k < i->worker_count; k++) pthread_join(i->workers[k].thread, NULL);
  if (is_over && smtp_resolver_join(&i->resolver, deadline_ns)) return SBX_OK;
  return smtp_refuse(error, SBX_E_TIMEOUT, "a connection or a lookup did not end in time");
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  if (i->config.username[0]) i->secrets->watch(i->host, SMTP_PASSWORD, password_changed, i);
  for (uint32_t k = 0; k < i->config.connections_max; k++) {
    smtp_worker *worker = &i->workers[k];
    worker->instance = i;
    smtp_session_init(&worker->session, i, i->stop_pipe[0]);
    pthread_mutex_lock(&i->lock);
    i->alive++;
    pthread_mutex_unlock(&i->lock);
    if (smtp_thread_start(&worker->thread, smtp_work, worker)) {
      i->worker_count++;
      continue;
    }
    pthread_mutex_lock(&i->lock);
    i->alive--;
    pthread_mutex_unlock(&i->lock);
    stop(i, smtp_now_ns() + 1000000000u, NULL);
    return smtp_refuse(error, SBX_E_INTERNAL, "a thread could not be started");
  }
  return SBX_OK;
}

static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND) ? NULL : &smtp_send_role; }

static const char *const roles[] = {SBX_ROLE_SEND, NULL};
static const char *const needs[] = {SBX_SVC_JSON, SBX_SVC_SECRETS, SBX_SVC_CLOCK, SBX_SVC_SEND_HOST, NULL};
static const sbx_plugin plugin = {
  .struct_size = sizeof plugin, .abi_major = SBX_ABI_MAJOR, .abi_minor = SBX_ABI_MINOR,
  .id = "io.signalbox.smtp", .version = "1.0.0", .summary = "e-mail through a mail server: STARTTLS or TLS, AUTH",
  .roles = roles, .needs = needs, .config_schema = smtp_config_schema,
  .create = create, .role = role, .start = start, .stop = stop, .destroy = destroy,
};

const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  (void)host, (void)error;
  return &plugin;
}
