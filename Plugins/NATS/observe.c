/* observe.c - publishes outcomes. The stream's own window drops those that are published twice. */
#include "instance.h"

#include <stdio.h>
#include <string.h>

static sbx_status observe(sbx_instance *i, const sbx_observation *observations, size_t n, size_t stride,
                          sbx_error *error) {
  if (!i->config.publish[0])
    return nats_refuse(error, SBX_E_UNSUPPORTED, "publish is not set, so outcomes have no subject to go to", "");
  sbx_status status = bus_outcomes_take(&i->outcomes, observations, n, stride);
  return status == SBX_OK ? SBX_OK : nats_refuse(error, status, "there is no memory", "");
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

sbx_status nats_start_publisher(sbx_instance *i, sbx_error *error) {
  if (!i->config.publish[0] || bus_outcomes_start(&i->outcomes, i->host, i, publish) == SBX_OK) return SBX_OK;
  nats_stop_publisher(i);
  return nats_refuse(error, SBX_E_INTERNAL, "no thread can be made", "");
}

void nats_stop_publisher(sbx_instance *i) { bus_outcomes_stop(&i->outcomes); }

const sbx_observe nats_observe_role = {sizeof nats_observe_role, 256, observe};
