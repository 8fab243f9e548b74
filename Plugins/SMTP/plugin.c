/* plugin.c - SMTP: the library's description, and the life cycle of an instance. */
#include "instance.h"

#include <openssl/x509.h>
#include <signal.h>
#include <sys/socket.h>

static void destroy(sbx_instance *i) {
  if (i->has_locks) {
    pthread_cond_destroy(&i->changed);
    pthread_mutex_destroy(&i->lock);
  }
  if (i->token) explicit_bzero(i->token, strlen(i->token));
  free(i->token);
  smtp_config_free(&i->config);
  free(i->workers);
  free(i);
}

static bool make_locks(sbx_instance *i) {
  pthread_condattr_t attributes;
  if (pthread_mutex_init(&i->lock, NULL)) return false;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  i->has_locks = !pthread_cond_init(&i->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (!i->has_locks) pthread_mutex_destroy(&i->lock);
  return i->has_locks;
}

/* libcurl would say so at the first connection only. */
static bool has_roots(const char *file) {
  X509_STORE *store = X509_STORE_new();
  bool is_read = store && X509_STORE_load_file(store, file) == 1;
  X509_STORE_free(store);
  return is_read;
}

static sbx_status make(sbx_instance *i, sbx_str config, sbx_error *error) {
  sbx_status status = smtp_config_read(i->host, config, &i->config, error);
  if (status != SBX_OK) return status;
  if (i->config.ca_file[0] && !has_roots(i->config.ca_file))
    return sbx_fail(error, SBX_E_INVALID, "ca_file is not a readable file of PEM certificates");
  if (i->config.login == SMTP_OAUTH && !i->http)
    return sbx_fail(error, SBX_E_UNSUPPORTED, "oauth needs a host with sbx.http/1");
  i->workers = calloc(i->config.connections_max, sizeof *i->workers);
  if (!i->workers || !make_locks(i)) return sbx_fail(error, SBX_E_INTERNAL, "no memory");
  i->last = &i->first;
  i->capacity = (size_t)i->config.connections_max * SMTP_QUEUE_PER_CONNECTION;
  return SBX_OK;
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->clock = host->service(host, SBX_SVC_CLOCK);
  i->log = host->service(host, SBX_SVC_LOG);
  i->http = host->service(host, SBX_SVC_HTTP);
  i->json = host->service(host, SBX_SVC_JSON);
  i->secrets = host->service(host, SBX_SVC_SECRETS);
  i->send = host->service(host, SBX_SVC_SEND_HOST);
  sbx_status status = make(i, config, error);
  if (status == SBX_OK) *out = i;
  else destroy(i);
  return status;
}

/* A new password may be tried at once. */
static void login_changed(void *context) {
  sbx_instance *i = context;
  pthread_mutex_lock(&i->lock);
  i->logins++;
  i->hold_until_ns = i->token_until_ns = 0;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  smtp_log(i, SBX_LOG_DEBUG, SBX_STR("the login has changed"), NULL);
}

/* What waits for the network reads its end. */
static void cut(sbx_instance *i) {
  i->phase = SMTP_ABORTED;
  pthread_cond_broadcast(&i->changed);
  for (uint32_t k = 0; k < i->worker_count; k++)
    for (int n = 0; n < 4; n++)
      if (i->workers[k].session.sockets[n]) shutdown(i->workers[k].session.sockets[n], SHUT_RDWR);
}

static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  uint64_t now = smtp_now_ns();
  uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  /* libcurl asks for an end once a second. */
  uint64_t for_the_end = left / 2 < 1500000000u ? left / 2 : 1500000000u;
  pthread_mutex_lock(&i->lock);
  i->phase = SMTP_DRAINING;
  pthread_cond_broadcast(&i->changed);
  while (i->alive && smtp_wait(i, now + left - for_the_end)) {
  }
  cut(i);
  while (i->alive && smtp_wait(i, deadline_ns)) {
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
  return is_over ? SBX_OK : sbx_fail(error, SBX_E_TIMEOUT, "a connection or a lookup did not end in time");
}

/* With all signals blocked. */
static bool start_thread(smtp_worker *worker) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = !pthread_create(&worker->thread, NULL, smtp_work, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_started;
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  static const sbx_str secrets[] = {{"password", 8}, {"bearer_token", 12}, {"oauth.client_secret", 19}};
  if (i->config.login) i->secrets->watch(i->host, secrets[i->config.login - SMTP_PASSWORD], login_changed, i);
  for (; i->worker_count < i->config.connections_max; i->worker_count++) {
    smtp_worker *worker = &i->workers[i->worker_count];
    worker->instance = worker->session.instance = i;
    pthread_mutex_lock(&i->lock);
    i->alive++;
    pthread_mutex_unlock(&i->lock);
    if (start_thread(worker)) continue;
    pthread_mutex_lock(&i->lock);
    i->alive--;
    pthread_mutex_unlock(&i->lock);
    stop(i, smtp_now_ns() + 1000000000u, NULL);
    return sbx_fail(error, SBX_E_INTERNAL, "a thread could not be started");
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
  (void)host;
  if (!curl_global_init(CURL_GLOBAL_DEFAULT)) return &plugin;
  sbx_fail(error, SBX_E_INTERNAL, "libcurl cannot be set up");
  return NULL;
}
