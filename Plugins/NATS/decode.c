/* decode.c - messages into events. A body is a JSON object with the members of an event:
 * {"type", "subject", "data", "dedupe", "time_unix_ms", "recipients": [{"user" | "token", "app", "platform", ...}]} */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message may be delivered again for as long. */
#define DEDUPE_MS 86400000u

/* What an event points into, next to the parsed body. */
typedef struct part {
  sbx_device *devices;
  sbx_recipient *recipients;
  char key[360];
} part;

static sbx_str text_of(const sbx_json *json, sbx_json_value object, const char *pointer) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (json->at(object, (sbx_str){pointer, strlen(pointer)}, &value) == SBX_OK) json->string(value, &text);
  return text;
}

/* Who gets it: users of the registry, or devices. */
static const char *read_recipients(const sbx_json *json, sbx_json_value body, sbx_event *event, part *part) {
  sbx_json_value list, one;
  sbx_json_cursor cursor;
  sbx_str key;
  size_t n = 0;
  if (json->at(body, STR("/recipients"), &list) != SBX_OK) return NULL;
  uint64_t count = json->count(list);
  if (json->kind(list) != SBX_JSON_ARRAY) return "recipients is no array";
  if (count > NATS_RECIPIENTS_MAX) return "it has more than 10,000 recipients";
  part->devices = calloc(count + 1, sizeof *part->devices);
  part->recipients = calloc(count + 1, sizeof *part->recipients);
  if (!part->devices || !part->recipients) return "there is no memory";
  json->first(list, &cursor);
  while (n < count && json->next(&cursor, &key, &one) == SBX_OK) {
    sbx_device *device = &part->devices[n];
    *device = (sbx_device){.struct_size = sizeof *device, .app = text_of(json, one, "/app"),
                           .platform = text_of(json, one, "/platform"), .provider = text_of(json, one, "/provider"),
                           .token = text_of(json, one, "/token"), .user = text_of(json, one, "/user"),
                           .locale = text_of(json, one, "/locale")};
    if (!device->user.len && !device->token.len) return "a recipient has neither user nor token";
    part->recipients[n++] = (sbx_recipient){.struct_size = sizeof(sbx_recipient), .device = device};
  }
  event->recipients = part->recipients;
  event->recipient_count = n;
  event->recipient_stride = sizeof *part->recipients;
  return NULL;
}

/* What the message's place in its stream says: when the stream took it, and a key that is the same each time the message is
 * delivered, unless its publisher gave it an id. */
static void read_place(natsMsg *message, sbx_event *event, part *part) {
  const char *id = NULL;
  jsMsgMetaData *facts = NULL;
  bool has_facts = natsMsg_GetMetaData(&facts, message) == NATS_OK;
  if (has_facts && facts->Timestamp > 0) event->time_unix_ms = (uint64_t)facts->Timestamp / 1000000;
  if (natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK && id && id[0])
    snprintf(part->key, sizeof part->key, "id/%.340s", id);
  // With its time: a stream that was deleted and made again begins with 1 again.
  else if (has_facts)
    snprintf(part->key, sizeof part->key, "%.255s/%llu/%lld", facts->Stream, (unsigned long long)facts->Sequence.Stream,
             (long long)facts->Timestamp);
  jsMsgMetaData_Destroy(facts);
  if (!event->dedupe.len) event->dedupe = (sbx_str){part->key, strlen(part->key)};
}

/* Why the message is no event; NULL: it is one. */
static const char *read_event(sbx_instance *i, natsMsg *message, sbx_event *event, part *part) {
  sbx_json_value body, data;
  int64_t time = 0;
  sbx_str text = {natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)};
  if (i->json->parse(i->host, text, &body, NULL) != SBX_OK || i->json->kind(body) != SBX_JSON_OBJECT)
    return "it is no JSON object";
  const char *subject = natsMsg_GetSubject(message);
  *event = (sbx_event){.struct_size = sizeof *event, .type = text_of(i->json, body, "/type"),
                       .subject = text_of(i->json, body, "/subject"), .dedupe = text_of(i->json, body, "/dedupe"),
                       .dedupe_window_ms = DEDUPE_MS};
  if (!event->type.len) return "it has no type";
  if (!event->subject.len) event->subject = (sbx_str){subject, strlen(subject)};
  read_place(message, event, part);
  if (i->json->at(body, STR("/data"), &data) == SBX_OK) {
    if (i->json->kind(data) != SBX_JSON_OBJECT) return "data is no object";
    i->json->text(data, &event->data);
  }
  if (i->json->at(body, STR("/time_unix_ms"), &data) == SBX_OK && !i->json->integer(data, &time) && time > 0)
    event->time_unix_ms = (uint64_t)time;
  return read_recipients(i->json, body, event, part);
}

/* A message that is no event would never become one: it is ended, and its neighbours go on. */
static void refuse(sbx_instance *i, nats_batch *batch, int at, const char *why) {
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
  part *parts = calloc((size_t)count, sizeof *parts);
  size_t n = 0;
  attempt->status = SBX_E_AGAIN;
  for (int k = 0; events && parts && k < count; k++) {
    if (!batch->list.Msgs[k]) continue;
    const char *why = read_event(i, batch->list.Msgs[k], &events[n], &parts[k]);
    if (why) refuse(i, batch, k, why);
    else n++;
  }
  if (events && parts)
    attempt->status = n ? out->emit(i->host, (uint64_t)(uintptr_t)batch, events, n, sizeof *events) : SBX_E_NOT_FOUND;
  for (int k = 0; parts && k < count; k++) {
    free(parts[k].devices);
    free(parts[k].recipients);
  }
  free(parts);
  free(events);
}
