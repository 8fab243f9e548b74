/* source.c - fetches messages, emits them, and acknowledges what is on the gateway's disk. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long the server waits for an acknowledgement before it delivers a message again. */
#define ACK_WAIT_NS (30 * 1000000000LL)
/* How long a batch waits for room, and how often it is tried: then the server delivers it again later. */
/* How many fetches may bring nothing until the consumer is looked up. */
#define EMPTY_MAX 40
#define PAUSE_MS 50
#define TRIES_MAX 200

static bool is_running(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  bool is = i->is_fetching;
  pthread_mutex_unlock(&i->lock);
  return is;
}

/* Waits until something changes, at most so long. */
static void wait_for(sbx_instance *i, long ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += ms % 1000 * 1000000L;
  until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&i->lock);
  if (i->is_fetching) pthread_cond_timedwait(&i->changed, &i->lock, &until);
  pthread_mutex_unlock(&i->lock);
}

static void free_batch(nats_batch *batch) {
  natsMsgList_Destroy(&batch->list);
  free(batch);
}

/* The consumer as it is, or a new one. */
static natsStatus find_consumer(sbx_instance *i, jsConsumerInfo **info) {
  jsErrCode code = 0;
  natsStatus status = js_GetConsumerInfo(info, i->stream, i->config.stream, i->config.consumer, NULL, &code);
  if (status != NATS_NOT_FOUND) return status;
  jsConsumerConfig made;
  jsConsumerConfig_Init(&made);
  made.Durable = i->config.consumer;
  made.AckPolicy = js_AckExplicit;
  made.AckWait = ACK_WAIT_NS;
  if (i->config.subject[0]) made.FilterSubject = i->config.subject;
  if (i->config.is_new_only) made.DeliverPolicy = js_DeliverNew;
  return js_AddConsumer(info, i->stream, i->config.stream, &made, NULL, &code);
}

static natsStatus subscribe(sbx_instance *i) {
  jsConsumerInfo *info = NULL;
  natsSubscription *made = NULL;
  jsSubOptions options;
  jsErrCode code = 0;
  natsStatus status = find_consumer(i, &info);
  if (status != NATS_OK) return status;
  jsSubOptions_Init(&options);
  options.Stream = i->config.stream;
  options.Consumer = i->config.consumer;
  // The library wants a subject, also for a consumer of the whole stream.
  const char *subject = info->Config->FilterSubject ? info->Config->FilterSubject : "";
  if (i->config.subject[0] && strcmp(subject, i->config.subject)) {
    jsConsumerInfo_Destroy(info);
    return NATS_INVALID_SUBSCRIPTION;
  }
  status = js_PullSubscribe(&made, i->stream, subject[0] ? subject : ">", i->config.consumer, NULL, &options, &code);
  jsConsumerInfo_Destroy(info);
  if (status != NATS_OK) return status;
  natsSubscription_Destroy(i->subscription);
  i->subscription = made;
  return NATS_OK;
}

/* Messages of which nothing is stored come again. */
static void give_back(nats_batch *batch, uint64_t after_ms) {
  for (int k = 0; k < batch->list.Count; k++)
    if (batch->list.Msgs[k]) natsMsg_NakWithDelay(batch->list.Msgs[k], (int64_t)after_ms, NULL);
}

/* Emits a batch until the host takes it; then it belongs to settled(). */
static void hand_over(sbx_instance *i, nats_batch *batch) {
  for (int tries = 0; tries < TRIES_MAX && is_running(i);) {
    nats_attempt attempt = {batch, SBX_E_AGAIN};
    if (i->scope->enter(i->host, nats_emit, &attempt) != SBX_OK) break;
    if (attempt.status == SBX_OK) return;
    bool is_refused = attempt.status == SBX_E_TOO_LARGE || attempt.status == SBX_E_INVALID;
    if (is_refused && batch->count > 1) {
      batch->count /= 2;
    } else if (is_refused && batch->list.Msgs[0]) {
      nats_refuse_message(i, batch, 0, attempt.status == SBX_E_INVALID ? "the gateway refuses the event"
                                                                       : "it is too large for an event");
    } else if (attempt.status == SBX_E_AGAIN) {
      tries++;
      wait_for(i, PAUSE_MS);
    } else {
      break;
    }
  }
  give_back(batch, is_running(i) ? 1000 : 0);
  free_batch(batch);
}

/* Nothing came, or not even that: the connection is being restored, the stream has no leader, or the consumer is gone. */
static void look_after(sbx_instance *i, natsStatus status, int *failures, int *empty) {
  if (status == NATS_TIMEOUT || status == NATS_OK) {
    if (++*empty % EMPTY_MAX) return;
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    status = js_GetConsumerInfo(&info, i->stream, i->config.stream, i->config.consumer, NULL, &code);
    jsConsumerInfo_Destroy(info);
    if (status == NATS_OK) {
      if (*failures) nats_condition(i, SBX_OK, "");
      *failures = 0;
      return;
    }
  }
  bool is_gone = status == NATS_NOT_FOUND;
  nats_condition(i, SBX_E_UNREACHABLE, is_gone ? "the consumer is gone" : natsStatus_GetText(status));
  if ((*failures)++ % 30 == 0)
    nats_log(i, SBX_LOG_WARN, is_gone ? "the consumer is gone, it is made again" : "messages cannot be fetched, trying again",
             "error", natsStatus_GetText(status));
  wait_for(i, 1000);
  subscribe(i);
}

static void *fetch(void *context) {
  sbx_instance *i = context;
  int failures = 0, empty = 0;
  while (is_running(i)) {
    nats_batch *batch = calloc(1, sizeof *batch);
    jsErrCode code = 0;
    if (!batch) {
      wait_for(i, 1000);
      continue;
    }
    batch->instance = i;
    natsStatus status =
        natsSubscription_Fetch(&batch->list, i->subscription, NATS_BATCH_MAX, NATS_FETCH_MS, &code);
    if (status == NATS_OK && batch->list.Count > 0) {
      if (failures) nats_condition(i, SBX_OK, "");
      failures = empty = 0;
      batch->count = batch->list.Count;
      hand_over(i, batch);
      continue;
    }
    free_batch(batch);
    look_after(i, status, &failures, &empty);
  }
  return NULL;
}

static sbx_status resume_source(sbx_instance *i, uint32_t batches_max, sbx_error *error) {
  (void)batches_max;
  if (!i->config.stream[0]) return SBX_OK;
  sbx_status connected = nats_connect(i, error);
  if (connected != SBX_OK) return connected;
  natsStatus status = subscribe(i);
  if (status == NATS_INVALID_SUBSCRIPTION)
    return nats_refuse(error, SBX_E_INVALID, "the consumer exists with another subject; remove it, or name another one",
                       i->config.consumer);
  if (status != NATS_OK) {
    const char *why = nats_GetLastError(NULL);
    return nats_refuse(error, status == NATS_NOT_FOUND ? SBX_E_INVALID : SBX_E_UNREACHABLE, "the stream cannot be read",
                       why && why[0] ? why : natsStatus_GetText(status));
  }
  i->is_fetching = true;
  i->has_fetcher = pthread_create(&i->fetcher, NULL, fetch, i) == 0;
  if (i->has_fetcher) return SBX_OK;
  i->is_fetching = false;
  return nats_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

static sbx_status pause_source(sbx_instance *i, sbx_error *error) {
  (void)error;
  pthread_mutex_lock(&i->lock);
  i->is_fetching = false;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  if (i->has_fetcher) pthread_join(i->fetcher, NULL);
  i->has_fetcher = false;
  natsSubscription_Destroy(i->subscription);
  i->subscription = NULL;
  return SBX_OK;
}

/* An acknowledgement that is lost costs nothing: the message comes again, and its key is known. */
static void settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride) {
  for (size_t k = 0; k < n; k++) {
    const sbx_batch_result *one = SBX_AT(sbx_batch_result, results, k, stride);
    nats_batch *batch = (nats_batch *)(uintptr_t)one->token;
    bool is_stored = one->status == SBX_OK;
    for (int at = 0; is_stored && at < batch->count; at++)
      if (batch->list.Msgs[at]) natsMsg_Ack(batch->list.Msgs[at], NULL);
    // Also the rest of a batch that was too large.
    for (int at = is_stored ? batch->count : 0; at < batch->list.Count; at++)
      if (batch->list.Msgs[at])
        natsMsg_NakWithDelay(batch->list.Msgs[at], is_stored ? 0 : (int64_t)one->retry_after_ms, NULL);
    free_batch(batch);
  }
  pthread_mutex_lock(&i->lock);
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}

const sbx_source nats_source_role = {sizeof nats_source_role, 0, resume_source, pause_source, settled};
