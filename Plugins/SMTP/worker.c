/* worker.c - a thread with one connection: takes jobs, sends and settles them. */
#include "instance.h"

#include <stdio.h>
#include <string.h>

/* How long no worker connects after a failed connect. A refused password waits longer: servers lock out clients
 * that keep trying one. */
#define HOLD_NS 1000000000u
#define HOLD_LOGIN_NS 30000000000u

void smtp_settle(sbx_instance *i, uint64_t id, const smtp_verdict *verdict) {
  sbx_outcome outcome = {
    .struct_size = sizeof outcome, .kind = verdict->kind, .scope = verdict->scope, .item = id,
    .retry_after_ms = verdict->retry_after_ms, .provider_code = verdict->code,
    .reason = {verdict->reason, strlen(verdict->reason)}, .detail = {verdict->detail, strlen(verdict->detail)},
  };
  i->send->complete(i->host, &outcome, 1, sizeof outcome);
}

static void log_connection(const sbx_instance *i, const smtp_verdict *verdict) {
  bool is_open = SMTP_IS_OK(*verdict);
  uint32_t level = is_open ? SBX_LOG_DEBUG : SBX_LOG_WARN;
  if (!i->log || !i->log->enabled(i->host, level)) return;
  sbx_kv fields[2] = {
    {STR("reason"), {verdict->reason, strlen(verdict->reason)}},
    {STR("detail"), {verdict->detail, strlen(verdict->detail)}},
  };
  i->log->write(i->host, level, is_open ? STR("connected to the mail server") : STR("no connection to the mail server"),
                fields, is_open ? 0 : 2);
}

/* Records the result of a connection; true if others are open, which will do the work. */
static bool note_connection(sbx_instance *i, const smtp_verdict *verdict) {
  pthread_mutex_lock(&i->lock);
  bool are_others = i->connected > 0;
  if (SMTP_IS_OK(*verdict)) {
    i->connected++;
    i->hold_until_ns = 0;
  } else if (i->phase != SMTP_ABORTED) {
    i->held = *verdict;
    i->hold_until_ns = smtp_now_ns() + (verdict->kind == SBX_OUTCOME_AUTH ? HOLD_LOGIN_NS : HOLD_NS);
  }
  pthread_mutex_unlock(&i->lock);
  return are_others;
}

static void close_session(smtp_worker *worker, bool is_polite) {
  sbx_instance *i = worker->instance;
  if (!worker->session.is_open) return;
  smtp_session_close(&worker->session, is_polite);
  pthread_mutex_lock(&i->lock);
  i->connected--;
  /* Wake the workers that left the work to this connection. */
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}

/* The verdict of the last failed connection, while it is too early for a new one. */
static bool is_held(sbx_instance *i, smtp_verdict *verdict) {
  pthread_mutex_lock(&i->lock);
  bool is_held = smtp_now_ns() < i->hold_until_ns;
  if (is_held) *verdict = i->held;
  pthread_mutex_unlock(&i->lock);
  return is_held;
}

static bool is_running(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  bool is_running = i->phase == SMTP_RUNNING;
  pthread_mutex_unlock(&i->lock);
  return is_running;
}

/* False if other connections should send it. */
static bool attempt(smtp_worker *worker, const smtp_job *job, smtp_verdict *verdict) {
  sbx_instance *i = worker->instance;
  for (;;) {
    bool is_fresh = !worker->session.is_open;
    if (is_fresh) {
      if (is_held(i, verdict)) return true;
      *verdict = smtp_session_open(&worker->session, job->give_up_ns);
      log_connection(i, verdict);
      bool are_others = note_connection(i, verdict);
      if (!SMTP_IS_OK(*verdict)) return !are_others;
    }
    bool is_sent = false;
    *verdict = smtp_session_send(&worker->session, job, &is_sent);
    if (!verdict->is_closing) return true;
    close_session(worker, false);
    /* A server may close an idle connection at any time; then nothing is lost, and a new one
     * is made at once. */
    if (is_fresh || is_sent || verdict->kind != SBX_OUTCOME_RETRY || !is_running(i)) return true;
  }
}

static void work_on(smtp_worker *worker, smtp_job *job) {
  sbx_instance *i = worker->instance;
  smtp_verdict verdict;
  bool is_expired = job->deadline_unix_ms && i->clock->unix_ms(i->host) >= job->deadline_unix_ms;
  if (is_expired || smtp_now_ns() >= job->give_up_ns) {
    verdict = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, is_expired ? "expired" : "queue_timeout", "not sent");
  } else if (!attempt(worker, job, &verdict)) {
    smtp_queue_put_back(i, job);
    return;
  }
  smtp_settle(i, job->id, &verdict);
  smtp_job_free(job);
}

void *smtp_work(void *argument) {
  smtp_worker *worker = argument;
  sbx_instance *i = worker->instance;
  smtp_job *job = NULL;
  smtp_next next;
  while ((next = smtp_queue_take(i, worker->session.is_open, &job)) != SMTP_NEXT_END) {
    if (next == SMTP_NEXT_JOB) work_on(worker, job);
    else close_session(worker, true);
  }
  close_session(worker, true);
  pthread_mutex_lock(&i->lock);
  i->alive--;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  return NULL;
}
