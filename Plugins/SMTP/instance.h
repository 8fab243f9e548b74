/* instance.h - one instance: the state that its workers share. */
#ifndef SMTP_INSTANCE_H
#define SMTP_INSTANCE_H
#include "encode.h"
#include "errors.h"
#include "resolve.h"
#include "session.h"

/* The host allows a delivery 60 s from submit() to its outcome; we give up earlier, after this time. The
 * stress test shortens both of these. */
#ifndef SMTP_GIVE_UP_NS
#define SMTP_GIVE_UP_NS 50000000000u
#endif
/* A connection that has been idle for this long is closed. */
#ifndef SMTP_IDLE_NS
#define SMTP_IDLE_NS 30000000000u
#endif
/* Limits of the queue: deliveries per connection, and total bytes (one message always fits). */
#define SMTP_QUEUE_PER_CONNECTION 16u
#define SMTP_QUEUE_BYTES (16u << 20)

/* An accepted delivery. */
typedef struct smtp_job {
  struct smtp_job *next;
  uint64_t id, deadline_unix_ms, give_up_ns;
  smtp_content *content;
  smtp_buffer to, headers;
  bool needs_utf8, is_dry_run;
} smtp_job;

typedef enum smtp_phase {
  SMTP_RUNNING,
  SMTP_DRAINING,  /* open connections send the queue; no new ones are opened */
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
  int stop_pipe[2];    /* the write end is closed to wake all threads; -1 if closed */
  bool has_locks;      /* lock, changed and resolver are initialized */
  smtp_worker *workers;
  uint32_t worker_count;

  pthread_mutex_t lock;    /* guards the fields below; never held during a call of the host */
  pthread_cond_t changed;  /* CLOCK_MONOTONIC */
  smtp_phase phase;
  smtp_job *first, **last;
  size_t count, capacity, bytes;
  bool is_credit_due;      /* a submit() was cut short */
  uint32_t alive;          /* running workers */
  uint32_t connected;      /* workers with an open session */
  uint64_t hold_until_ns;  /* no new connection before this time: the last one failed with `held` */
  smtp_verdict held;
};

/* queue.c: adds a job; false if the queue is full, and credit() is called once there is room. */
bool smtp_queue_put(sbx_instance *i, smtp_job *job);
/* Puts a job back at the place it was taken from. */
void smtp_queue_put_back(sbx_instance *i, smtp_job *job);
typedef enum smtp_next { SMTP_NEXT_JOB, SMTP_NEXT_IDLE, SMTP_NEXT_END } smtp_next;
/* Waits for a worker's next task; the worker owns the job. */
smtp_next smtp_queue_take(sbx_instance *i, bool is_connected, smtp_job **job);
/* Takes all queued jobs, linked by next. */
smtp_job *smtp_queue_take_all(sbx_instance *i);
void smtp_job_free(smtp_job *job);

/* worker.c: a worker's thread; the argument is its smtp_worker. */
void *smtp_work(void *worker);
/* Reports the outcome of a delivery to the host. */
void smtp_settle(sbx_instance *i, uint64_t id, const smtp_verdict *verdict);

/* submit.c: the role. */
extern const sbx_send smtp_send_role;

#endif
