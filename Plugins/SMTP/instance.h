/* instance.h - one instance: the state that its workers share. */
#ifndef SMTP_INSTANCE_H
#define SMTP_INSTANCE_H
#include "config.h"
#include "errors.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

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
/* The longest password or access token. */
#define SMTP_SECRET_MAX 8192u

/* An accepted delivery. */
typedef struct smtp_job {
  struct smtp_job *next;
  uint64_t id, deadline_unix_ms, give_up_ns;
  char *to;
  sbx_out message;
  bool needs_utf8, is_dry_run;
} smtp_job;

typedef enum smtp_phase {
  SMTP_RUNNING,
  SMTP_DRAINING,  /* open connections send the queue; no new ones are opened */
  SMTP_ABORTED,   /* everything ends now */
} smtp_phase;

/* A worker's connection. All but the sockets belongs to its thread. */
typedef struct smtp_session {
  sbx_instance *instance;
  CURL *curl;              /* NULL before the first use and after an idle time */
  int sockets[4];          /* guarded by the instance's lock; 0: none */
  bool is_open;            /* logged in, ready for MAIL */
  unsigned logins;         /* the instance's count when it logged in */
  bool has_utf8, has_auth; /* what the server offers */
  /* The transfer that runs. */
  const smtp_job *job;
  smtp_stage stage;
  smtp_reply reply;
  size_t read;             /* bytes of the message that libcurl has taken */
  uint64_t step_ns;        /* when the last step began */
  bool is_secure, may_connect, has_verdict;
  /* Why there is no socket: libcurl keeps only the error of a connect. */
  int socket_error;
  bool is_over;            /* QUIT was sent */
  smtp_verdict verdict;    /* of a callback that ended it */
} smtp_session;

typedef struct smtp_worker {
  sbx_instance *instance;
  pthread_t thread;
  smtp_session session;
} smtp_worker;

struct sbx_instance {
  const sbx_host *host;
  const sbx_clock *clock;
  const sbx_log *log;    /* may be NULL */
  const sbx_http *http;  /* NULL without oauth */
  const sbx_json *json;
  const sbx_secrets *secrets;
  const sbx_send_host *send;
  smtp_config config;
  smtp_worker *workers;
  uint32_t worker_count;
  bool has_locks;          /* lock and changed are initialized */

  pthread_mutex_t lock;    /* guards the fields below; never held during a call of the host */
  pthread_cond_t changed;  /* CLOCK_MONOTONIC */
  _Atomic smtp_phase phase;
  smtp_job *first, **last;
  size_t count, capacity, bytes;
  bool is_credit_due;      /* a submit() was cut short */
  uint32_t alive;          /* running workers */
  uint32_t connected;      /* workers with an open session */
  uint64_t hold_until_ns;  /* no new connection before this time: the last one failed with `held` */
  smtp_verdict held;
  unsigned logins;         /* how often the password or token has changed */
  char *token;             /* of oauth; NULL: none */
  uint64_t token_until_ns;
  bool is_asking;          /* for a token */
  smtp_verdict token_fault;
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
/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t smtp_now_ns(void);
/* Waits for `changed` with the lock held; false if the deadline passed. */
bool smtp_wait(sbx_instance *i, uint64_t deadline_ns);

/* connect.c: makes the handle; false if libcurl refused an option. */
bool smtp_handle_make(smtp_session *session);
/* Hands the login to libcurl, for the connection that it is about to make. */
smtp_verdict smtp_log_in(smtp_session *session);
/* What waits for the server reads the end of the connection. */
void smtp_end_reading(smtp_session *session);
/* Looking up, connecting and greeting take longer than one step. */
enum { SMTP_STEPS_TO_CONNECT = 2 };
#define SMTP_SET(option, value) (is_set &= curl_easy_setopt(s->curl, option, value) == CURLE_OK)

/* session.c: the verdict of a callback that ends the transfer; the first one counts. */
void smtp_give(smtp_session *session, smtp_verdict verdict);
/* Runs one transaction, and connects and logs in first if the session is not open. */
smtp_verdict smtp_session_send(smtp_session *session, const smtp_job *job);
/* Whether the server gave up the connection before the message was under way. */
bool smtp_session_was_cut(const smtp_session *session);
/* Says QUIT, and waits for nothing. */
void smtp_session_close(smtp_session *session);

/* oauth.c: an access token, zero-terminated, with at most SMTP_SECRET_MAX bytes. False: *fault says why not. */
bool smtp_oauth_token(sbx_instance *i, char *token, uint64_t deadline_ns, smtp_verdict *fault);

/* worker.c: a worker's thread; the argument is its smtp_worker. */
void *smtp_work(void *worker);
/* The session has logged in; the others may do the same. */
void smtp_connected(sbx_instance *i);
/* `fault` may be NULL. */
void smtp_log(const sbx_instance *i, uint32_t level, sbx_str message, const smtp_verdict *fault);
/* Reports the outcome of a delivery to the host. */
void smtp_settle(sbx_instance *i, uint64_t id, const smtp_verdict *verdict);

/* submit.c: the role. */
extern const sbx_send smtp_send_role;

#endif
