/* instance.h - one instance: its configuration, its connection, and the state of its two roles. */
#ifndef NATS_INSTANCE_H
#define NATS_INSTANCE_H
#include <bus_events.h>
#include <bus_outcomes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdbool.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

/* Most messages of a batch, and how long a fetch waits for the first of them. */
#define NATS_BATCH_MAX 100
#define NATS_FETCH_MS 250

typedef struct nats_config {
  char **servers;
  int server_count;
  char *ca_file, *credentials_file, *user, *name;
  char *stream, *consumer, *subject;  /* source; empty: none */
  char *publish;                      /* observe; empty: none */
  bool has_password, has_token, is_new_only;
  bus_map map;
} nats_config;

/* Messages on their way into the gateway; its address is the token. */
typedef struct nats_batch {
  struct sbx_instance *instance;
  natsMsgList list;
  int count;  /* the part of the list that is emitted now, from its beginning */
} nats_batch;

/* A call of emit(). After OK the batch may be gone. */
typedef struct nats_attempt {
  nats_batch *batch;
  sbx_status status;  /* NOT_FOUND: no message is left */
} nats_attempt;

struct sbx_instance {
  const sbx_host *host;
  const sbx_log *log;  /* may be NULL */
  const sbx_json *json;
  const sbx_scope *scope;
  const sbx_metrics *metrics;  /* may be NULL */
  uint64_t connected_gauge, refused_counter;
  nats_config config;
  pthread_mutex_t connecting;  /* held while the next two are made */
  natsConnection *connection;
  jsCtx *stream;

  pthread_mutex_t lock;    /* guards the fields below; never held during a call of the host */
  pthread_cond_t changed;
  /* source.c */
  pthread_t fetcher;
  bool is_fetching, has_fetcher;
  natsSubscription *subscription;
  /* observe.c */
  bus_outcomes outcomes;
  bool was_refused;        /* a server refused to store an outcome */
  bool is_closing;         /* the connection ends because we want it: the host is called no more */
};

/* config.c */
extern const char nats_config_schema[];
sbx_status nats_config_read(const sbx_host *host, sbx_str text, nats_config *config, sbx_error *error);
void nats_config_free(nats_config *config);
sbx_status nats_refuse(sbx_error *error, sbx_status status, const char *message, const char *detail);

/* connect.c: connects if there is no connection. */
sbx_status nats_connect(sbx_instance *i, sbx_error *error);
void nats_disconnect(sbx_instance *i);
/* Tells the host how the source is; an instance that is none is not asked. */
void nats_condition(sbx_instance *i, sbx_status status, const char *reason);
void nats_log(sbx_instance *i, uint32_t level, const char *message, const char *key, const char *value);

/* decode.c: emits the messages of an attempt. Inside a scope. */
void nats_emit(void *attempt);
/* A message that would never become an event is ended, and its neighbours go on. */
void nats_refuse_message(sbx_instance *i, nats_batch *batch, int at, const char *why);

/* source.c, observe.c */
extern const sbx_source nats_source_role;
extern const sbx_observe nats_observe_role;
sbx_status nats_start_publisher(sbx_instance *i, sbx_error *error);
void nats_stop_publisher(sbx_instance *i);

#endif
