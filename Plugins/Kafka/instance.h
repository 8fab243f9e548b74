/* instance.h - one instance: its configuration, and the state of its two roles. */
#ifndef KAFKA_INSTANCE_H
#define KAFKA_INSTANCE_H
#include <bus_events.h>
#include <bus_outcomes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdbool.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

/* Most messages and bytes of a batch. */
#define KAFKA_BATCH_MAX 100
#define KAFKA_BATCH_BYTES_MAX (2u << 20)
/* How long a poll waits for a message. */
#define KAFKA_POLL_MS 100

typedef struct kafka_config {
  char *brokers;  /* "a:9092,b:9092" */
  char *ca_file, *username, *sasl, *name;
  char **topics;  /* source; none: empty */
  int topic_count;
  char *group, *offset_reset;
  char *publish;  /* observe; empty: none */
  char **properties;  /* of librdkafka: name, value, name, value, ... */
  int property_count;
  bool is_tls, has_password;
  bus_map map;
} kafka_config;

/* A message, copied: the library's own must not outlive the consumer. */
typedef struct kafka_message {
  char *body;   /* freed when it is no event, or decided */
  size_t len;
  const char *topic;  /* the configuration's, or NULL: it is of no topic of ours */
  int32_t partition;
  int64_t offset, time_unix_ms;
} kafka_message;

typedef enum kafka_phase { KAFKA_WAITING, KAFKA_EMITTED, KAFKA_DONE } kafka_phase;

/* Messages that become one batch of events; its address is the token. */
typedef struct kafka_batch {
  struct sbx_instance *instance;
  struct kafka_batch *next;  /* the one that was read after it */
  kafka_phase phase;
  bool is_orphan;            /* its partitions were taken away: nobody commits its offsets */
  uint64_t due_ms;           /* WAITING: not before this time, monotonic */
  int count;
  kafka_message messages[];
} kafka_batch;

struct sbx_instance {
  const sbx_host *host;
  const sbx_log *log;          /* may be NULL */
  const sbx_json *json;
  const sbx_scope *scope;
  const sbx_metrics *metrics;  /* may be NULL */
  uint64_t connected_gauge, partitions_gauge, refused_counter;
  kafka_config config;

  pthread_mutex_t lock;  /* guards the fields below; never held during a call of the host */
  pthread_cond_t changed;
  /* source.c and batches.c */
  pthread_t fetcher;
  bool is_fetching, has_fetcher;
  rd_kafka_t *consumer;
  kafka_batch *first, *last;   /* in the order of their offsets */
  uint32_t emitted, emitted_max;
  sbx_status condition;        /* as last told to the host */
  bool is_away;                /* the library says that it reaches no broker */
  bool is_login_refused;
  /* Used by the fetcher alone. */
  uint32_t assignments;        /* how often partitions went */
  bool is_held;                /* the partitions are paused, since there is no room */
  uint64_t refusal_logged_ms, checked_ms;
  uint32_t refused_since;      /* refused and not in the log yet, */
  char last_refusal[640];      /* of which this is the last one */
  /* observe.c */
  bus_outcomes outcomes;
  _Atomic bool is_producer_away;  /* no broker could be reached since the last outcome was stored */
  rd_kafka_t *producer;
  rd_kafka_topic_t *outcome_topic;
};

/* config.c */
extern const char kafka_config_schema[];
sbx_status kafka_config_read(const sbx_host *host, sbx_str text, kafka_config *config, sbx_error *error);
void kafka_config_free(kafka_config *config);
sbx_status kafka_refuse(sbx_error *error, sbx_status status, const char *message, const char *detail);

/* connect.c: a client, which connects by itself; NULL with the reason. */
rd_kafka_t *kafka_client(sbx_instance *i, rd_kafka_type_t type, rd_kafka_conf_t *conf, sbx_error *error);
/* Tells the host how the source is, if that changed. */
void kafka_condition(sbx_instance *i, sbx_status status, const char *reason);
void kafka_log(sbx_instance *i, uint32_t level, const char *message, const char *key, const char *value);
uint64_t kafka_now_ms(void);

/* batches.c: what was read and is not committed yet. */
kafka_batch *kafka_batch_make(sbx_instance *i, int count);
void kafka_batch_append(sbx_instance *i, kafka_batch *batch);
/* Emits those that wait and whose time has come. */
void kafka_batches_emit(sbx_instance *i);
/* Whether nothing waits, and another batch may be emitted; waits for it up to so long. */
bool kafka_batches_room(sbx_instance *i, long wait_ms);
/* Waits until everything that was emitted is decided, up to so long. */
void kafka_batches_settle(sbx_instance *i, long wait_ms);
/* Forgets all: their partitions belong to others, who read them again. */
void kafka_batches_forget(sbx_instance *i);
void kafka_settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride);

/* decode.c: the status of emitting a batch; NOT_FOUND: no message of it is an event. */
sbx_status kafka_emit(sbx_instance *i, kafka_batch *batch);
/* A message that is no event would never become one. */
void kafka_refuse_message(sbx_instance *i, kafka_message *message, const char *why);
/* Says how many were refused without a line, once a second. */
void kafka_sum_up_refusals(sbx_instance *i);

/* source.c, observe.c */
extern const sbx_source kafka_source_role;
extern const sbx_observe kafka_observe_role;
sbx_status kafka_start_publisher(sbx_instance *i, sbx_error *error);
void kafka_stop_publisher(sbx_instance *i);

#endif
