/* observe.c - publishes outcomes, with the user as key: those of a user stay in order. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>

/* How long the brokers have to store a batch. */
#define DELIVERY_MS "10000"

/* A batch under way. On the publisher's thread alone. */
typedef struct flight {
  size_t open;
  rd_kafka_resp_err_t fault;  /* the first one */
} flight;

static void free_copy(sbx_observation *batch, size_t n) {
  for (size_t k = 0; batch && k < n; k++) free((void *)batch[k].json.ptr);
  free(batch);
}

static sbx_status observe(sbx_instance *i, const sbx_observation *observations, size_t n, size_t stride,
                          sbx_error *error) {
  if (!i->config.publish[0])
    return kafka_refuse(error, SBX_E_UNSUPPORTED, "publish is not set, so outcomes have no topic to go to", "");
  sbx_observation *copy = calloc(n, sizeof *copy);
  bool is_whole = copy != NULL;
  for (size_t k = 0; is_whole && k < n; k++) {
    const sbx_observation *one = SBX_AT(sbx_observation, observations, k, stride);
    copy[k] = (sbx_observation){.struct_size = sizeof *copy, .sequence = one->sequence, .json = one->json};
    copy[k].json.ptr = strndup(one->json.ptr, one->json.len);
    is_whole = copy[k].json.ptr != NULL;
  }
  if (!is_whole) {
    free_copy(copy, n);
    return kafka_refuse(error, SBX_E_AGAIN, "there is no memory", "");
  }
  pthread_mutex_lock(&i->lock);
  i->outcomes = copy;
  i->outcome_count = n;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  return SBX_OK;
}

static void reported(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context) {
  (void)producer, (void)context;
  flight *flight = message->_private;
  flight->open--;
  if (message->err && !flight->fault) flight->fault = message->err;
}

typedef struct keyed {
  sbx_instance *instance;
  const sbx_observation *one;
  flight *flight;
  rd_kafka_resp_err_t code;
} keyed;

/* Inside a scope, for the JSON. */
static void produce(void *context) {
  keyed *keyed = context;
  sbx_instance *i = keyed->instance;
  sbx_json_value root, value;
  sbx_str user = {"", 0};
  if (i->json->parse(i->host, keyed->one->json, &root, NULL) == SBX_OK &&
      i->json->at(root, STR("/user"), &value) == SBX_OK)
    i->json->string(value, &user);
  int status = rd_kafka_produce(i->outcome_topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                                (void *)keyed->one->json.ptr, keyed->one->json.len, user.len ? user.ptr : NULL, user.len,
                                keyed->flight);
  keyed->code = status ? rd_kafka_last_error() : RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool is_stopping(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  bool is = i->is_stopping;
  pthread_mutex_unlock(&i->lock);
  return is;
}

/* Whether the brokers have all of them. */
static sbx_status publish(sbx_instance *i, const sbx_observation *batch, size_t n) {
  flight flight = {0, RD_KAFKA_RESP_ERR_NO_ERROR};
  for (size_t k = 0; k < n && !flight.fault; k++) {
    keyed keyed = {i, &batch[k], &flight, RD_KAFKA_RESP_ERR_NO_ERROR};
    if (i->scope->enter(i->host, produce, &keyed) != SBX_OK) keyed.code = RD_KAFKA_RESP_ERR__DESTROY;
    if (keyed.code) flight.fault = keyed.code;
    else flight.open++;
  }
  // Each one is reported, at the latest when its time is over. What the brokers do not have when the instance stops
  // comes again after the next start.
  while (flight.open) {
    if (is_stopping(i)) rd_kafka_purge(i->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_poll(i->producer, 100);
  }
  if (!flight.fault) return SBX_OK;
  kafka_log(i, SBX_LOG_WARN, "outcomes were not stored by Kafka, trying again", "error", rd_kafka_err2str(flight.fault));
  bool is_refused = flight.fault == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                    flight.fault == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
  return is_refused ? SBX_E_AUTH : SBX_E_AGAIN;
}

static void *work(void *context) {
  sbx_instance *i = context;
  const sbx_observe_host *out = i->host->service(i->host, SBX_SVC_OBSERVE_HOST);
  pthread_mutex_lock(&i->lock);
  while (!i->is_stopping) {
    if (!i->outcomes) {
      pthread_cond_wait(&i->changed, &i->lock);
      continue;
    }
    sbx_observation *batch = i->outcomes;
    size_t n = i->outcome_count;
    i->outcomes = NULL;
    pthread_mutex_unlock(&i->lock);
    uint64_t last = batch[n - 1].sequence;
    sbx_status status = publish(i, batch, n);
    free_copy(batch, n);
    out->done(i->host, last, status, 0);
    pthread_mutex_lock(&i->lock);
  }
  free_copy(i->outcomes, i->outcome_count);
  i->outcomes = NULL;
  pthread_mutex_unlock(&i->lock);
  return NULL;
}

sbx_status kafka_start_publisher(sbx_instance *i, sbx_error *error) {
  if (!i->config.publish[0]) return SBX_OK;
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "enable.idempotence", "true", NULL, 0);
  rd_kafka_conf_set(conf, "message.timeout.ms", DELIVERY_MS, NULL, 0);
  rd_kafka_conf_set(conf, "linger.ms", "5", NULL, 0);
  rd_kafka_conf_set_dr_msg_cb(conf, reported);
  i->producer = kafka_client(i, RD_KAFKA_PRODUCER, conf, error);
  if (!i->producer) return SBX_E_INVALID;
  i->outcome_topic = rd_kafka_topic_new(i->producer, i->config.publish, NULL);
  i->has_publisher = i->outcome_topic && pthread_create(&i->publisher, NULL, work, i) == 0;
  if (i->has_publisher) return SBX_OK;
  kafka_stop_publisher(i);
  return kafka_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

void kafka_stop_publisher(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  i->is_stopping = true;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  if (i->has_publisher) pthread_join(i->publisher, NULL);
  i->has_publisher = false;
  if (i->outcome_topic) rd_kafka_topic_destroy(i->outcome_topic);
  i->outcome_topic = NULL;
  if (i->producer) rd_kafka_destroy(i->producer);
  i->producer = NULL;
}

const sbx_observe kafka_observe_role = {sizeof kafka_observe_role, 256, observe};
