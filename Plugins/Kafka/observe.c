/* observe.c - publishes outcomes, with the user as key: those of a user stay in order. */
#include "instance.h"

/* How long the brokers have to store a batch. */
#define DELIVERY_MS "10000"
/* And how long if none of them could be reached before: the host asks again. */
#define AWAY_MS 2000

/* A batch under way. On the publisher's thread alone. */
typedef struct flight {
  size_t open;
  rd_kafka_resp_err_t fault;  /* the first one */
} flight;

static sbx_status observe(sbx_instance *i, const sbx_observation *observations, size_t n, size_t stride,
                          sbx_error *error) {
  if (!i->config.publish[0])
    return kafka_refuse(error, SBX_E_UNSUPPORTED, "publish is not set, so outcomes have no topic to go to", "");
  sbx_status status = bus_outcomes_take(&i->outcomes, observations, n, stride);
  return status == SBX_OK ? SBX_OK : kafka_refuse(error, status, "there is no memory", "");
}

static void reported(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context) {
  (void)producer;
  sbx_instance *i = context;
  flight *flight = message->_private;
  flight->open--;
  if (message->err && !flight->fault) flight->fault = message->err;
  if (!message->err) i->is_producer_away = false;
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
  uint64_t began = kafka_now_ms();
  while (flight.open) {
    bool is_hopeless = i->is_producer_away && kafka_now_ms() >= began + AWAY_MS;
    if (is_hopeless || bus_outcomes_stopping(&i->outcomes)) rd_kafka_purge(i->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_poll(i->producer, 100);
  }
  if (!flight.fault) return SBX_OK;
  kafka_log(i, SBX_LOG_WARN, "outcomes were not stored by Kafka, trying again", "error",
            i->is_producer_away ? "no broker of Kafka answers" : rd_kafka_err2str(flight.fault));
  bool is_refused = flight.fault == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                    flight.fault == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
  return is_refused ? SBX_E_AUTH : SBX_E_AGAIN;
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
  if (i->outcome_topic && bus_outcomes_start(&i->outcomes, i->host, i, publish) == SBX_OK) return SBX_OK;
  kafka_stop_publisher(i);
  return kafka_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

void kafka_stop_publisher(sbx_instance *i) {
  bus_outcomes_stop(&i->outcomes);
  if (i->outcome_topic) rd_kafka_topic_destroy(i->outcome_topic);
  i->outcome_topic = NULL;
  if (i->producer) rd_kafka_destroy(i->producer);
  i->producer = NULL;
}

const sbx_observe kafka_observe_role = {sizeof kafka_observe_role, 256, observe};
