/* queue.c - the queue of deliveries between submit() and the workers, in order of arrival. */
#include "instance.h"

#include <time.h>

uint64_t smtp_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool smtp_wait(sbx_instance *i, uint64_t deadline_ns) {
  struct timespec until = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
  if (smtp_now_ns() >= deadline_ns) return false;
  return pthread_cond_timedwait(&i->changed, &i->lock, &until) == 0;
}

bool smtp_queue_put(sbx_instance *i, smtp_job *job) {
  pthread_mutex_lock(&i->lock);
  bool has_room = i->phase == SMTP_RUNNING && i->count < i->capacity &&
                  (!i->count || i->bytes + job->message.length <= SMTP_QUEUE_BYTES);
  if (has_room) {
    job->next = NULL;
    *i->last = job;
    i->last = &job->next;
    i->count++;
    i->bytes += job->message.length;
    /* Wake all workers: one that must not connect now would only consume the signal. */
    pthread_cond_broadcast(&i->changed);
  } else {
    i->is_credit_due = true;
  }
  pthread_mutex_unlock(&i->lock);
  return has_room;
}

void smtp_queue_put_back(sbx_instance *i, smtp_job *job) {
  pthread_mutex_lock(&i->lock);
  job->next = i->first;
  i->first = job;
  if (!job->next) i->last = &job->next;
  i->count++;
  i->bytes += job->message.length;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}

static smtp_job *pop(sbx_instance *i) {
  smtp_job *job = i->first;
  i->first = job->next;
  if (!i->first) i->last = &i->first;
  i->count--;
  i->bytes -= job->message.length;
  return job;
}

/* The credit to give the host: only if it waits for credit, and once a batch is worth the call. */
static size_t credit(sbx_instance *i) {
  size_t room = i->capacity > i->count ? i->capacity - i->count : 0;
  if (!i->is_credit_due || i->phase != SMTP_RUNNING || room < (i->capacity + 1) / 2) return 0;
  i->is_credit_due = false;
  return room;
}

smtp_next smtp_queue_take(sbx_instance *i, bool is_connected, smtp_job **job) {
  smtp_next next = SMTP_NEXT_END;
  size_t room = 0;
  uint64_t idle_at = smtp_now_ns() + SMTP_IDLE_NS;
  pthread_mutex_lock(&i->lock);
  for (;;) {
    uint64_t now = smtp_now_ns();
    if (i->phase == SMTP_ABORTED || (i->phase == SMTP_DRAINING && (!is_connected || !i->first))) break;
    /* While new connections fail, the open ones do the work. */
    bool is_held = !is_connected && i->connected && now < i->hold_until_ns;
    if (i->first && !is_held) {
      *job = pop(i);
      room = credit(i);
      next = SMTP_NEXT_JOB;
      break;
    }
    if (is_connected && now >= idle_at) {
      next = SMTP_NEXT_IDLE;
      break;
    }
    if (is_connected) smtp_wait(i, idle_at);
    else if (is_held) smtp_wait(i, i->hold_until_ns);
    else pthread_cond_wait(&i->changed, &i->lock);
  }
  pthread_mutex_unlock(&i->lock);
  if (room) i->send->credit(i->host, room);
  return next;
}

smtp_job *smtp_queue_take_all(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  smtp_job *all = i->first;
  i->first = NULL;
  i->last = &i->first;
  i->count = i->bytes = 0;
  pthread_mutex_unlock(&i->lock);
  return all;
}

void smtp_job_free(smtp_job *job) {
  sbx_out_free(&job->message);
  free(job->to);
  free(job);
}
