/* observe.c - publishes outcomes. The stream's own window drops those that are published twice. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_copy(sbx_observation *batch, size_t n) {
  for (size_t k = 0; batch && k < n; k++) free((void *)batch[k].json.ptr);
  free(batch);
}

static sbx_status observe(sbx_instance *i, const sbx_observation *observations, size_t n, size_t stride,
                          sbx_error *error) {
  if (!i->config.publish[0])
    return nats_refuse(error, SBX_E_UNSUPPORTED, "publish is not set, so outcomes have no subject to go to", "");
  sbx_observation *copy = calloc(n, sizeof *copy);
  bool is_whole = copy != NULL;
  for (size_t k = 0; is_whole && k < n; k++) {
    const sbx_observation *one = SBX_AT(sbx_observation, observations, k, stride);
    copy[k] = *one;
    copy[k].json.ptr = strndup(one->json.ptr, one->json.len);
    is_whole = copy[k].json.ptr != NULL;
  }
  if (!is_whole) {
    free_copy(copy, n);
    return nats_refuse(error, SBX_E_AGAIN, "there is no memory", "");
  }
  pthread_mutex_lock(&i->lock);
  i->batch = copy;
  i->batch_count = n;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  return SBX_OK;
}

/* Of the content: another data folder counts its outcomes from 1, too. */
static uint64_t hash_of(sbx_str text) {
  uint64_t hash = 14695981039346656037u;
  for (size_t k = 0; k < text.len; k++) hash = (hash ^ (unsigned char)text.ptr[k]) * 1099511628211u;
  return hash;
}

/* Whether the stream has all of them. */
static sbx_status publish(sbx_instance *i, const sbx_observation *batch, size_t n) {
  sbx_error error = {.struct_size = sizeof error};
  sbx_status connected = nats_connect(i, &error);
  if (connected != SBX_OK) {
    nats_log(i, SBX_LOG_WARN, "outcomes cannot be published, trying again", "error", error.message);
    return connected;
  }
  natsStatus status = NATS_OK;
  for (size_t k = 0; status == NATS_OK && k < n; k++) {
    char id[320];
    jsPubOptions options;
    jsPubOptions_Init(&options);
    snprintf(id, sizeof id, "%.255s/%llu/%016llx", i->config.name, (unsigned long long)batch[k].sequence,
             (unsigned long long)hash_of(batch[k].json));
    options.MsgId = id;
    status = js_PublishAsync(i->stream, i->config.publish, batch[k].json.ptr, (int)batch[k].json.len, &options);
  }
  jsPubOptions wait;
  jsPubOptions_Init(&wait);
  wait.MaxWait = 10000;
  natsStatus complete = js_PublishAsyncComplete(i->stream, &wait);
  // What failed or is still open is taken off the list: all of the batch comes again.
  natsMsgList pending = {NULL, 0};
  if (js_PublishAsyncGetPendingList(&pending, i->stream) == NATS_OK && pending.Count > 0 && complete == NATS_OK)
    complete = NATS_ERR;
  natsMsgList_Destroy(&pending);
  if (status == NATS_OK) status = complete;
  pthread_mutex_lock(&i->lock);
  bool was_refused = i->was_refused;
  i->was_refused = false;
  pthread_mutex_unlock(&i->lock);
  if (status == NATS_OK && !was_refused) return SBX_OK;
  nats_log(i, SBX_LOG_WARN, "outcomes were not stored by a stream, trying again", "error",
           was_refused ? "no stream takes the subject, or it refuses" : natsStatus_GetText(status));
  return SBX_E_AGAIN;
}

static void *work(void *context) {
  sbx_instance *i = context;
  const sbx_observe_host *out = i->host->service(i->host, SBX_SVC_OBSERVE_HOST);
  pthread_mutex_lock(&i->lock);
  while (!i->is_stopping) {
    if (!i->batch) {
      pthread_cond_wait(&i->changed, &i->lock);
      continue;
    }
    sbx_observation *batch = i->batch;
    size_t n = i->batch_count;
    i->batch = NULL;
    pthread_mutex_unlock(&i->lock);
    uint64_t last = batch[n - 1].sequence;
    sbx_status status = publish(i, batch, n);
    free_copy(batch, n);
    out->done(i->host, last, status, 0);
    pthread_mutex_lock(&i->lock);
  }
  free_copy(i->batch, i->batch_count);
  i->batch = NULL;
  pthread_mutex_unlock(&i->lock);
  return NULL;
}

sbx_status nats_start_publisher(sbx_instance *i, sbx_error *error) {
  if (!i->config.publish[0]) return SBX_OK;
  i->has_publisher = pthread_create(&i->publisher, NULL, work, i) == 0;
  return i->has_publisher ? SBX_OK : nats_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

void nats_stop_publisher(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  i->is_stopping = true;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
  if (i->has_publisher) pthread_join(i->publisher, NULL);
  i->has_publisher = false;
}

const sbx_observe nats_observe_role = {sizeof nats_observe_role, 256, observe};
