/* decode.c - messages into events, and into the gateway. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the message's place in its stream says: when the stream took it, and a key that is the same each time the message is
 * delivered, unless its publisher gave it an id. */
static void read_place(natsMsg *message, sbx_event *event, bus_parts *parts) {
  const char *id = NULL;
  jsMsgMetaData *facts = NULL;
  bool has_facts = natsMsg_GetMetaData(&facts, message) == NATS_OK;
  if (!event->time_unix_ms && has_facts && facts->Timestamp > 0)
    event->time_unix_ms = (uint64_t)facts->Timestamp / 1000000;
  if (natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK && id && id[0])
    snprintf(parts->key, sizeof parts->key, "id/%.340s", id);
  // With its time: a stream that was deleted and made again begins with 1 again.
  else if (has_facts)
    snprintf(parts->key, sizeof parts->key, "%.255s/%llu/%lld", facts->Stream, (unsigned long long)facts->Sequence.Stream,
             (long long)facts->Timestamp);
  jsMsgMetaData_Destroy(facts);
  if (!event->dedupe.len) event->dedupe = (sbx_str){parts->key, strlen(parts->key)};
}

/* Why the message is no event; NULL: it is one. */
static const char *read_event(sbx_instance *i, natsMsg *message, sbx_event *event, bus_parts *parts) {
  sbx_str text = {natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)};
  const char *subject = natsMsg_GetSubject(message);
  const char *why = bus_event_read(i->host, i->json, &i->config.map, text, event, parts);
  if (why) return why;
  if (!event->subject.len) event->subject = (sbx_str){subject, strlen(subject)};
  read_place(message, event, parts);
  return NULL;
}

/* A message that is no event would never become one: it is ended, and its neighbours go on. */
void nats_refuse_message(sbx_instance *i, nats_batch *batch, int at, const char *why) {
  char place[640] = "";
  jsMsgMetaData *facts = NULL;
  if (natsMsg_GetMetaData(&facts, batch->list.Msgs[at]) == NATS_OK)
    snprintf(place, sizeof place, "%s: %.255s/%llu on %.255s", why, facts->Stream,
             (unsigned long long)facts->Sequence.Stream, natsMsg_GetSubject(batch->list.Msgs[at]));
  jsMsgMetaData_Destroy(facts);
  if (i->metrics) i->metrics->add(i->host, i->refused_counter, 1);
  nats_log(i, SBX_LOG_WARN, "a message is no event, it is ended", "error", place[0] ? place : why);
  natsMsg_Term(batch->list.Msgs[at], NULL);
  natsMsg_Destroy(batch->list.Msgs[at]);
  batch->list.Msgs[at] = NULL;
}

void nats_emit(void *context) {
  nats_attempt *attempt = context;
  nats_batch *batch = attempt->batch;
  sbx_instance *i = batch->instance;
  const int count = batch->count;
  const sbx_source_host *out = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  sbx_event *events = calloc((size_t)count, sizeof *events);
  bus_parts *parts = calloc((size_t)count, sizeof *parts);
  size_t n = 0;
  attempt->status = SBX_E_AGAIN;
  for (int k = 0; events && parts && k < count; k++) {
    if (!batch->list.Msgs[k]) continue;
    const char *why = read_event(i, batch->list.Msgs[k], &events[n], &parts[k]);
    if (why) nats_refuse_message(i, batch, k, why);
    else n++;
  }
  if (events && parts)
    attempt->status = n ? out->emit(i->host, (uint64_t)(uintptr_t)batch, events, n, sizeof *events) : SBX_E_NOT_FOUND;
  for (int k = 0; parts && k < count; k++) bus_parts_free(&parts[k]);
  free(parts);
  free(events);
}
