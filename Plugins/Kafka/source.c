/* source.c - reads messages as a member of a consumer group, and emits them. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the fetcher waits for room before it pauses the partitions. */
#define ROOM_MS 20
/* How long a pause or a rebalance waits for what the host has not decided yet. Later the messages come again. */
#define SETTLE_MS 5000
/* How often the brokers are asked while something is wrong, and how long they have. */
#define CHECK_MS 1000

static bool is_running(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  bool is = i->is_fetching;
  pthread_mutex_unlock(&i->lock);
  return is;
}

/* MARK: Partitions */

/* On the fetcher, from inside a poll. */
static void rebalanced(rd_kafka_t *consumer, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t *partitions,
                       void *context) {
  sbx_instance *i = context;
  char count[16];
  bool is_assigned = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
  snprintf(count, sizeof count, "%d", is_assigned ? partitions->cnt : 0);
  if (!is_assigned) {
    // What is stored until now is committed when the partitions go.
    if (!rd_kafka_assignment_lost(consumer)) kafka_batches_settle(i, SETTLE_MS);
    kafka_batches_forget(i);
  }
  i->is_held = false;
  rd_kafka_assign(consumer, is_assigned ? partitions : NULL);
  if (i->metrics) i->metrics->set(i->host, i->partitions_gauge, is_assigned ? partitions->cnt : 0);
  kafka_log(i, SBX_LOG_INFO, "partitions of Kafka assigned", "partitions", count);
}

/* While there is no room the consumer must still poll, or it would be put out of its group. */
static void hold(sbx_instance *i, bool is_held) {
  rd_kafka_topic_partition_list_t *partitions = NULL;
  if (i->is_held == is_held) return;
  i->is_held = is_held;
  if (rd_kafka_assignment(i->consumer, &partitions) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  if (is_held) rd_kafka_pause_partitions(i->consumer, partitions);
  else rd_kafka_resume_partitions(i->consumer, partitions);
  rd_kafka_topic_partition_list_destroy(partitions);
}

/* MARK: Reading */

static const char *topic_of(const sbx_instance *i, const rd_kafka_message_t *message) {
  const char *name = message->rkt ? rd_kafka_topic_name(message->rkt) : "";
  for (int k = 0; k < i->config.topic_count; k++)
    if (!strcmp(i->config.topics[k], name)) return i->config.topics[k];
  return NULL;
}

/* A fault that came in place of a message. */
static void fault(sbx_instance *i, const rd_kafka_message_t *message) {
  char reason[400];
  const char *topic = message->rkt ? rd_kafka_topic_name(message->rkt) : "";
  snprintf(reason, sizeof reason, "%s%.249s%s%s", topic[0] ? "topic " : "", topic, topic[0] ? ": " : "",
           rd_kafka_err2str(message->err));
  switch (message->err) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: kafka_condition(i, SBX_E_NOT_FOUND, reason); break;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED: kafka_condition(i, SBX_E_AUTH, reason); break;
    default: kafka_log(i, SBX_LOG_WARN, "Kafka reports a fault", "error", reason);
  }
}

/* Copies a message; false: it is none. Skipping one for want of memory would lose it. */
static bool take(sbx_instance *i, kafka_batch *batch, const rd_kafka_message_t *message) {
  if (message->err) fault(i, message);
  const char *topic = message->err ? NULL : topic_of(i, message);
  if (!topic) return false;
  char *body = malloc(message->len + 1);
  for (; !body && is_running(i); body = malloc(message->len + 1)) usleep(100000);
  if (!body) return false;
  if (message->payload) memcpy(body, message->payload, message->len);
  batch->messages[batch->count++] = (kafka_message){
      .body = body, .len = message->len, .topic = topic, .partition = message->partition, .offset = message->offset,
      .time_unix_ms = rd_kafka_message_timestamp(message, NULL)};
  return true;
}

static void drop(kafka_batch *batch) {
  for (int k = 0; k < batch->count; k++) free(batch->messages[k].body);
  batch->count = 0;
}

/* Waits for a message, and takes those that are there already. */
static void fill(sbx_instance *i) {
  kafka_batch *batch = kafka_batch_make(i, KAFKA_BATCH_MAX);
  size_t bytes = 0;
  int wait = KAFKA_POLL_MS;
  uint32_t assignments = i->assignments;
  while (batch && batch->count < KAFKA_BATCH_MAX && bytes < KAFKA_BATCH_BYTES_MAX) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(i->consumer, wait);
    // After a rebalance the new consumer reads earlier messages again, so they are dropped here.
    if (assignments != i->assignments) drop(batch);
    assignments = i->assignments;
    if (!message) break;
    bytes += message->len;
    bool is_taken = take(i, batch, message);
    rd_kafka_message_destroy(message);
    // A fault ends the batch, so that the brokers are asked soon.
    if (!is_taken) break;
    wait = 0;
  }
  if (batch && batch->count) kafka_batch_append(i, batch);
  else free(batch);
}

/* MARK: Whether messages can come */

/* What a broker says of a topic. */
static sbx_status check_topic(sbx_instance *i, const char *name, const char **reason) {
  const rd_kafka_metadata_t *facts = NULL;
  rd_kafka_topic_t *topic = rd_kafka_topic_new(i->consumer, name, NULL);
  if (!topic) return SBX_E_INTERNAL;
  rd_kafka_resp_err_t code = rd_kafka_metadata(i->consumer, 0, topic, &facts, CHECK_MS);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR && facts->topic_cnt == 1) code = facts->topics[0].err;
  if (facts) rd_kafka_metadata_destroy(facts);
  rd_kafka_topic_destroy(topic);
  *reason = rd_kafka_err2str(code);
  switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: return SBX_OK;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC: return SBX_E_NOT_FOUND;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: return SBX_E_AUTH;
    default: return SBX_E_UNREACHABLE;
  }
}

static void check(sbx_instance *i) {
  char words[400] = "";
  sbx_status status = SBX_OK;
  pthread_mutex_lock(&i->lock);
  bool is_login_refused = i->is_login_refused;
  i->is_away = i->is_login_refused = false;
  pthread_mutex_unlock(&i->lock);
  for (int k = 0; k < i->config.topic_count && status == SBX_OK; k++) {
    const char *reason = "";
    status = check_topic(i, i->config.topics[k], &reason);
    if (status == SBX_E_UNREACHABLE) snprintf(words, sizeof words, "no broker of Kafka answers: %s", reason);
    else snprintf(words, sizeof words, "topic %.249s: %s", i->config.topics[k], reason);
  }
  if (status == SBX_E_UNREACHABLE && is_login_refused) kafka_condition(i, SBX_E_AUTH, "Kafka refuses the login");
  else kafka_condition(i, status, status == SBX_OK ? "" : words);
}

/* Asks at the beginning, and while something is wrong. */
static void look_after(sbx_instance *i) {
  uint64_t now = kafka_now_ms();
  pthread_mutex_lock(&i->lock);
  bool is_due = i->condition != SBX_OK || i->is_away || i->is_login_refused;
  pthread_mutex_unlock(&i->lock);
  if (!is_due || (i->checked_ms && now < i->checked_ms + CHECK_MS)) return;
  check(i);
  i->checked_ms = kafka_now_ms();
}

static void *fetch(void *context) {
  sbx_instance *i = context;
  while (is_running(i)) {
    kafka_batches_emit(i);
    hold(i, !kafka_batches_room(i, ROOM_MS));
    fill(i);
    look_after(i);
    kafka_sum_up_refusals(i);
  }
  return NULL;
}

/* MARK: The role */

static sbx_status open_consumer(sbx_instance *i, sbx_error *error) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "group.id", i->config.group, NULL, 0);
  rd_kafka_conf_set(conf, "auto.offset.reset", i->config.offset_reset, NULL, 0);
  rd_kafka_conf_set(conf, "enable.auto.offset.store", "false", NULL, 0);
  rd_kafka_conf_set(conf, "auto.commit.interval.ms", "1000", NULL, 0);
  // A topic that is missing is named, and not made.
  rd_kafka_conf_set(conf, "allow.auto.create.topics", "false", NULL, 0);
  rd_kafka_conf_set_rebalance_cb(conf, rebalanced);
  rd_kafka_t *consumer = kafka_client(i, RD_KAFKA_CONSUMER, conf, error);
  if (!consumer) return SBX_E_INVALID;
  rd_kafka_poll_set_consumer(consumer);
  rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(i->config.topic_count);
  for (int k = 0; k < i->config.topic_count; k++)
    rd_kafka_topic_partition_list_add(topics, i->config.topics[k], RD_KAFKA_PARTITION_UA);
  rd_kafka_resp_err_t code = rd_kafka_subscribe(consumer, topics);
  rd_kafka_topic_partition_list_destroy(topics);
  pthread_mutex_lock(&i->lock);
  i->consumer = consumer;
  pthread_mutex_unlock(&i->lock);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return SBX_OK;
  return kafka_refuse(error, SBX_E_INVALID, "the topics cannot be subscribed to", rd_kafka_err2str(code));
}

/* Leaves the group, so that another member has the partitions at once. */
static void close_consumer(sbx_instance *i) {
  rd_kafka_t *consumer = i->consumer;
  if (!consumer) return;
  rd_kafka_consumer_close(consumer);
  kafka_batches_forget(i);
  pthread_mutex_lock(&i->lock);
  i->consumer = NULL;
  pthread_mutex_unlock(&i->lock);
  rd_kafka_destroy(consumer);
}

static sbx_status resume_source(sbx_instance *i, uint32_t batches_max, sbx_error *error) {
  if (!i->config.topic_count) return SBX_OK;
  i->emitted_max = batches_max;
  i->condition = SBX_E_AGAIN;
  i->is_away = i->is_login_refused = i->is_held = false;
  i->checked_ms = 0;
  sbx_status status = open_consumer(i, error);
  if (status != SBX_OK) return close_consumer(i), status;
  i->is_fetching = true;
  i->has_fetcher = pthread_create(&i->fetcher, NULL, fetch, i) == 0;
  if (i->has_fetcher) return SBX_OK;
  i->is_fetching = false;
  close_consumer(i);
  return kafka_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

static sbx_status pause_source(sbx_instance *i, sbx_error *error) {
  (void)error;
  pthread_mutex_lock(&i->lock);
  i->is_fetching = false;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  if (i->has_fetcher) pthread_join(i->fetcher, NULL);
  i->has_fetcher = false;
  close_consumer(i);
  return SBX_OK;
}

const sbx_source kafka_source_role = {sizeof kafka_source_role, 0, resume_source, pause_source, kafka_settled};
