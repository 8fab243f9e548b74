/* instance.h - one instance: what its workers share. */
#ifndef SMTP_INSTANCE_H
#define SMTP_INSTANCE_H
#include "encode.h"
#include "errors.h"
#include "resolve.h"
#include "session.h"

/* The host gives a delivery 60 s from submit() to its outcome; this is when we give up by ourselves. The
 * stress test shortens both of these. */
#ifndef SMTP_GIVE_UP_NS
#define SMTP_GIVE_UP_NS 50000000000u
#endif
/* A connection that has had nothing to do for so long is closed. */
#ifndef SMTP_IDLE_NS
#define SMTP_IDLE_NS 30000000000u
#endif
/* Bounds of the queue: deliveries per connection, and bytes in all (one message always fits). */
#define SMTP_QUEUE_PER_CONNECTION 16u
#define SMTP_QUEUE_BYTES (16u << 20)

/* A delivery that was taken. */
typedef struct smtp_job {
  struct smtp_job *next;
  uint64_t id, deadline_unix_ms, give_up_ns;
  smtp_content *content;
  smtp_buffer to, headers;
  bool needs_utf8, is_dry_run;
} smtp_job;

typedef enum smtp_phase {
  SMTP_RUNNING,
  SMTP_DRAINING,  /* open connections send what is queued; no new ones are made */
  SMTP_ABORTED,   /* everything ends now */
} smtp_phase;

typedef struct smtp_worker {
  sbx_instance *instance;
  pthread_t thread;
  smtp_session session;
} smtp_worker;

struct sbx_instance {
  const sbx_host *host;
  const sbx_clock *clock;
  const sbx_log *log;  /* may be NULL */
  const sbx_secrets *secrets;
  const sbx_send_host *send;
  smtp_config config;
  SSL_CTX *tls;
  BIO_METHOD *bio;
  smtp_resolver resolver;
  int stop_pipe[2];    /* the second end is closed to wake everybody up; -1: closed */
  bool has_locks;      /* lock, changed and resolver are made */
  smtp_worker *workers;
  uint32_t worker_count;

  pthread_mutex_t lock;    /* guards what follows; never held while the host is called */
  pthread_cond_t changed;  /* CLOCK_MONOTONIC */
  smtp_phase phase;
  smtp_job *first, **last;
  size_t count, capacity, bytes;
  bool is_credit_due;      /* a submit() was cut short */
  uint32_t alive;          /* workers that have not ended */
  uint32_t connected;      /* workers with an open session */
  uint64_t hold_until_ns;  /* no new connection before, since the last one failed as `held` says */
  smtp_verdict held;
};

/* queue.c: takes a job in; false: there is no room, and credit() is called once there is. */
bool smtp_queue_put(sbx_instance *i, smtp_job *job);
/* Puts a job back where it was taken from. */
void smtp_queue_put_back(sbx_instance *i, smtp_job *job);
typedef enum smtp_next { SMTP_NEXT_JOB, SMTP_NEXT_IDLE, SMTP_NEXT_END } smtp_next;
/* Waits for what a worker has to do next; the job is the worker's. */
smtp_next smtp_queue_take(sbx_instance *i, bool is_connected, smtp_job **job);
/* Everything that is queued, linked by next. */
smtp_job *smtp_queue_take_all(sbx_instance *i);
void smtp_job_free(smtp_job *job);

/* worker.c: a thread's life; the argument is its smtp_worker. */
void *smtp_work(void *worker);
/* Tells the host what became of a delivery. */
void smtp_settle(sbx_instance *i, uint64_t id, const smtp_verdict *verdict);

/* submit.c: the role. */
extern const sbx_send smtp_send_role;

#endif
