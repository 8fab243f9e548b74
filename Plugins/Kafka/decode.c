/* decode.c - messages into events, and into the gateway. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call of emit() inside a scope. */
typedef struct attempt {
  sbx_instance *instance;
  kafka_batch *batch;
  sbx_status status;
} attempt;

void kafka_sum_up_refusals(sbx_instance *i) {
  char words[720];
  if (!i->refused_since || kafka_now_ms() < i->refusal_logged_ms + 1000) return;
  snprintf(words, sizeof words, "%u more, the last one: %s", i->refused_since, i->last_refusal);
  i->refused_since = 0;
  kafka_log(i, SBX_LOG_WARN, "messages are no events, they are skipped", "error", words);
}

void kafka_refuse_message(sbx_instance *i, kafka_message *message, const char *why) {
  char place[640];
  free(message->body);
  message->body = NULL;
  if (i->metrics) i->metrics->add(i->host, i->refused_counter, 1);
  snprintf(place, sizeof place, "%s: %.249s/%d/%lld", why, message->topic, message->partition,
           (long long)message->offset);
  // A topic of other content would fill the log: the others of a second are summed up.
  uint64_t now = kafka_now_ms();
  if (i->refusal_logged_ms && now < i->refusal_logged_ms + 1000) {
    i->refused_since++;
    snprintf(i->last_refusal, sizeof i->last_refusal, "%s", place);
    return;
  }
  kafka_sum_up_refusals(i);
  i->refusal_logged_ms = now;
  kafka_log(i, SBX_LOG_WARN, "a message is no event, it is skipped", "error", place);
}

/* A topic that is made again counts from 0 again, so the key has the time, too. */
static const char *read(sbx_instance *i, const kafka_message *message, sbx_event *event, bus_parts *parts) {
  const char *why = bus_event_read(i->host, i->json, &i->config.map, (sbx_str){message->body, message->len}, event, parts);
  if (why) return why;
  if (!event->subject.len) event->subject = (sbx_str){message->topic, strlen(message->topic)};
  if (!event->time_unix_ms && message->time_unix_ms > 0) event->time_unix_ms = (uint64_t)message->time_unix_ms;
  snprintf(parts->key, sizeof parts->key, "%.249s/%d/%lld/%lld", message->topic, message->partition,
           (long long)message->offset, (long long)message->time_unix_ms);
  if (!event->dedupe.len) event->dedupe = (sbx_str){parts->key, strlen(parts->key)};
  return NULL;
}

static void emit(void *context) {
  attempt *attempt = context;
  sbx_instance *i = attempt->instance;
  kafka_batch *batch = attempt->batch;
  const int count = batch->count;
  const sbx_source_host *out = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  sbx_event *events = calloc((size_t)count, sizeof *events);
  bus_parts *parts = calloc((size_t)count, sizeof *parts);
  size_t n = 0;
  attempt->status = SBX_E_AGAIN;
  for (int k = 0; events && parts && k < count; k++) {
    kafka_message *message = &batch->messages[k];
    if (!message->body) continue;
    const char *why = read(i, message, &events[n], &parts[k]);
    if (why) kafka_refuse_message(i, message, why);
    else n++;
  }
  // After OK the batch may be gone.
  if (events && parts)
    attempt->status = n ? out->emit(i->host, (uint64_t)(uintptr_t)batch, events, n, sizeof *events) : SBX_E_NOT_FOUND;
  for (int k = 0; parts && k < count; k++) bus_parts_free(&parts[k]);
  free(parts);
  free(events);
}

sbx_status kafka_emit(sbx_instance *i, kafka_batch *batch) {
  attempt attempt = {i, batch, SBX_E_STOPPING};
  return i->scope->enter(i->host, emit, &attempt) == SBX_OK ? attempt.status : SBX_E_STOPPING;
}
