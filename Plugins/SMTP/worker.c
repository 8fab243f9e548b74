/* worker.c - a thread with one connection: takes jobs, sends and settles them. */
#include "instance.h"

/* How long no worker connects after a failed connect. A refused password waits longer: servers lock out clients
 * that keep trying one. */
#define HOLD_NS 1000000000u
#define HOLD_LOGIN_NS 30000000000u

void smtp_settle(sbx_instance *i, uint64_t id, const smtp_verdict *verdict) {
  sbx_outcome outcome = {
    .struct_size = sizeof outcome, .kind = verdict->kind, .scope = verdict->scope, .item = id,
    .retry_after_ms = verdict->retry_after_ms, .provider_code = verdict->code,
    .reason = sbx_text(verdict->reason), .detail = sbx_text(verdict->detail),
  };
  i->send->complete(i->host, &outcome, 1, sizeof outcome);
}

void smtp_log(const sbx_instance *i, uint32_t level, sbx_str message, const smtp_verdict *fault) {
  if (!i->log || !i->log->enabled(i->host, level)) return;
  sbx_kv fields[2] = {
    {SBX_STR("reason"), sbx_text(fault ? fault->reason : "")},
    {SBX_STR("detail"), sbx_text(fault ? fault->detail : "")},
  };
  i->log->write(i->host, level, message, fields, fault ? 2 : 0);
}

void smtp_connected(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  i->connected++;
  i->hold_until_ns = 0;
  pthread_mutex_unlock(&i->lock);
  smtp_log(i, SBX_LOG_DEBUG, SBX_STR("connected to the mail server"), NULL);
}

/* Records a failed connection; true if others are open, which will do the work. */
static bool hold(sbx_instance *i, const smtp_verdict *verdict) {
  smtp_log(i, SBX_LOG_WARN, SBX_STR("no connection to the mail server"), verdict);
  pthread_mutex_lock(&i->lock);
  bool are_others = i->connected > 0;
  i->held = *verdict;
  i->hold_until_ns = smtp_now_ns() + (verdict->kind == SBX_OUTCOME_AUTH ? HOLD_LOGIN_NS : HOLD_NS);
  if (verdict->kind == SBX_OUTCOME_AUTH) i->token_until_ns = 0;
  pthread_mutex_unlock(&i->lock);
  return are_others;
}

/* The verdict of the last failed connection, while it is too early for a new one. */
static bool is_held(sbx_instance *i, smtp_verdict *verdict) {
  pthread_mutex_lock(&i->lock);
  bool is_held = smtp_now_ns() < i->hold_until_ns;
  if (is_held) *verdict = i->held;
  pthread_mutex_unlock(&i->lock);
  return is_held;
}

/* A connection with an old password or token is not used again. */
static void close_outdated(smtp_session *session) {
  sbx_instance *i = session->instance;
  pthread_mutex_lock(&i->lock);
  bool is_outdated = session->logins != i->logins;
  pthread_mutex_unlock(&i->lock);
  if (is_outdated) smtp_session_close(session);
}

/* False if other connections should send it. */
static bool attempt(smtp_session *session, const smtp_job *job, smtp_verdict *verdict) {
  sbx_instance *i = session->instance;
  close_outdated(session);
  for (;;) {
    bool is_fresh = !session->is_open;
    if (is_fresh && is_held(i, verdict)) return true;
    *verdict = smtp_session_send(session, job);
    if (is_fresh && session->stage < SMTP_AT_MAIL && verdict->scope == SBX_SCOPE_INSTANCE) return !hold(i, verdict);
    /* A server may close an idle connection at any time; then nothing is lost, and a new one is made at once. */
    bool is_again = !is_fresh && verdict->kind == SBX_OUTCOME_RETRY && smtp_session_was_cut(session);
    if (!is_again || i->phase != SMTP_RUNNING) return true;
  }
}

static void work_on(smtp_worker *worker, smtp_job *job) {
  sbx_instance *i = worker->instance;
  smtp_verdict verdict;
  bool is_expired = job->deadline_unix_ms && i->clock->unix_ms(i->host) >= job->deadline_unix_ms;
  if (is_expired || smtp_now_ns() >= job->give_up_ns) {
    verdict = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, is_expired ? "expired" : "queue_timeout", "not sent");
  } else if (!attempt(&worker->session, job, &verdict)) {
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
    else smtp_session_close(&worker->session);
  }
  smtp_session_close(&worker->session);
  pthread_mutex_lock(&i->lock);
  i->alive--;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  return NULL;
}
