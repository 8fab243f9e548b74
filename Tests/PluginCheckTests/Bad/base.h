/* A plugin with every role that keeps every rule, with places to break one: macros from
 * plugins.txt precede it. */
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
#define TEXT(s) ((sbx_str){s, strlen(s)})

/* Detects other threads between enter() and leave(). */
static int inside;
__attribute__((unused)) static int enter(void) {
  int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  usleep(200);
  return n > 1;
}
__attribute__((unused)) static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST); }

#ifndef GLOBALS
#define GLOBALS
#endif
#ifndef ON_ENTRY
#define ON_ENTRY
#endif
#ifndef ON_CREATE
#define ON_CREATE
#endif
#ifndef ON_CREATED
#define ON_CREATED
#endif
#ifndef ON_START
#define ON_START
#endif
#ifndef ON_STOP
#define ON_STOP
#endif
#ifndef ON_DESTROY
#define ON_DESTROY
#endif
#ifndef ON_HANDLE
#define ON_HANDLE
#endif
#ifndef ON_EVENT
#define ON_EVENT
#endif
#ifndef ON_PATHS
#define ON_PATHS
#endif
#ifndef ON_BUILD
#define ON_BUILD
#endif
#ifndef ON_ENDPOINT
#define ON_ENDPOINT
#endif
#ifndef ON_PREPARE
#define ON_PREPARE
#endif
#ifndef ON_REQUEST
#define ON_REQUEST
#endif
#ifndef ON_CLASSIFY
#define ON_CLASSIFY
#endif
#ifndef ON_OUTCOME
#define ON_OUTCOME
#endif
#ifndef ON_CHANGES
#define ON_CHANGES
#endif
#ifndef ON_REPORTED
#define ON_REPORTED
#endif
#ifndef ON_SUBMIT
#define ON_SUBMIT
#endif
#ifndef ON_TAKEN
#define ON_TAKEN
#endif
#ifndef ON_SENT
#define ON_SENT
#endif
#ifndef ON_RESUME
#define ON_RESUME
#endif
#ifndef ON_BATCH
#define ON_BATCH
#endif
#ifndef ON_PAUSE
#define ON_PAUSE
#endif
#ifndef ON_SETTLED
#define ON_SETTLED
#endif
#ifndef ON_FILTER
#define ON_FILTER
#endif
#ifndef ON_OBSERVE
#define ON_OBSERVE
#endif
#ifndef ON_SEEN
#define ON_SEEN
#endif
#ifndef PATTERN
#define PATTERN "/in/base"
#endif
#ifndef ORIGIN
#define ORIGIN "https://push.example"
#endif
#ifndef KINDS
#define KINDS (1u << SBX_CHANGE_INVALID | 1u << SBX_CHANGE_UNREGISTERED)
#endif
#ifndef ID
#define ID "org.example.base"
#endif
#ifndef VERSION
#define VERSION "1.0.0"
#endif
#ifndef SUMMARY
#define SUMMARY "keeps every rule"
#endif
#ifndef ROLES
#define ROLES SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_REGISTER, SBX_ROLE_SEND, SBX_ROLE_SOURCE, SBX_ROLE_OBSERVE, \
  SBX_ROLE_FILTER
#endif
#ifndef NEEDS
#define NEEDS SBX_SVC_JSON, SBX_SVC_LOG, SBX_SVC_SEND_HOST, SBX_SVC_SOURCE_HOST, SBX_SVC_OBSERVE_HOST
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef SCHEMA
#define SCHEMA "{\"type\":\"object\",\"required\":[\"key\"],\"properties\":{\"key\":{\"type\":\"string\",\"format\":\"secret\"}}}"
#endif
#ifndef RETURNED
#define RETURNED &plugin
#endif

struct sbx_instance {
  const sbx_host *host;
  const sbx_json *json;
  const sbx_log *log;
  const sbx_send_host *out;
  pthread_mutex_t lock;
  pthread_cond_t change;
  pthread_t thread;
  uint64_t queue[256], token;
  size_t waiting;
  int stops, runs, is_short;
};
GLOBALS

static void say(sbx_error *error, const char *words) {
  if (error && error->struct_size >= sizeof *error) strncpy(error->message, words, sizeof error->message - 1);
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, key;
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  ON_CREATE
  if (json->parse(host, config, &root, error) != SBX_OK) return SBX_E_INVALID;
  sbx_str name;
  if (json->at(root, STR("/key"), &key) != SBX_OK || json->string(key, &name) != SBX_OK) {
    say(error, "key is missing");
    return SBX_E_INVALID;
  }
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->json = json;
  i->log = host->service(host, SBX_SVC_LOG);
  i->out = host->service(host, SBX_SVC_SEND_HOST);
  pthread_mutex_init(&i->lock, NULL);
  pthread_cond_init(&i->change, NULL);
  ON_CREATED
  *out = i;
  return SBX_OK;
}

static sbx_outcome outcome(uint64_t item, uint32_t kind, const char *reason) {
  return (sbx_outcome){.struct_size = sizeof(sbx_outcome), .kind = kind, .item = item, .reason = TEXT(reason)};
}

/* The transport of the role send: a thread that reports everything delivered. */
static void *run(void *p) {
  sbx_instance *i = p;
  pthread_mutex_lock(&i->lock);
  while (!i->stops || i->waiting) {
    if (!i->waiting) {
      pthread_cond_wait(&i->change, &i->lock);
      continue;
    }
    uint64_t item = i->queue[--i->waiting];
    int credits = i->is_short;
    i->is_short = 0;
    pthread_mutex_unlock(&i->lock);
    sbx_outcome o = outcome(item, SBX_OUTCOME_DELIVERED, "ok");
    ON_SENT
    i->out->complete(i->host, &o, 1, sizeof o);
    if (credits) i->out->credit(i->host, 1);
    pthread_mutex_lock(&i->lock);
  }
  pthread_mutex_unlock(&i->lock);
  return NULL;
}
static sbx_status start(sbx_instance *i, sbx_error *error) {
  (void)error;
  ON_START
  i->runs = pthread_create(&i->thread, NULL, run, i) == 0;
  return i->runs ? SBX_OK : SBX_E_INTERNAL;
}
static sbx_status stop(sbx_instance *i, uint64_t deadline, sbx_error *error) {
  (void)deadline, (void)error;
  pthread_mutex_lock(&i->lock);
  i->stops = 1;
  pthread_cond_broadcast(&i->change);
  pthread_mutex_unlock(&i->lock);
  if (i->runs) pthread_join(i->thread, NULL);
  i->runs = 0;
  ON_STOP
  return SBX_OK;
}
static void destroy(sbx_instance *i) {
  ON_DESTROY
  pthread_mutex_destroy(&i->lock);
  pthread_cond_destroy(&i->change);
  free(i);
}

static sbx_status paths(sbx_instance *i, const sbx_ingest_path **list, size_t *n, size_t *stride) {
  (void)i;
  static const sbx_ingest_path all[] = {{sizeof all[0], 0, {PATTERN, sizeof PATTERN - 1}, {"POST", 4}}};
  *list = all;
  *n = 1;
  *stride = sizeof all[0];
  ON_PATHS
  return SBX_OK;
}
static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  sbx_json_value root, token;
  ON_HANDLE
  if (i->json->parse(i->host, request->body, &root, error) != SBX_OK) return SBX_E_INVALID;
  if (i->json->kind(root) != SBX_JSON_OBJECT) {
    say(error, "the body is not an object");
    return SBX_E_INVALID;
  }
  sbx_device device = {.struct_size = sizeof device, .platform = STR("ios")};
  sbx_recipient to = {.struct_size = sizeof to, .device = &device};
  sbx_event event = {.struct_size = sizeof event, .type = STR("base.text"), .recipients = &to, .recipient_count = 1,
                     .recipient_stride = sizeof to};
  if (i->json->at(root, STR("/token"), &token) != SBX_OK || i->json->string(token, &device.token) != SBX_OK)
    return sink->reject(sink, STR("no_token"), STR(""));
  i->json->text(root, &event.data);
  ON_EVENT
  return sink->emit(sink, &event, 1, sizeof event);
}
static const sbx_ingest ingest = {sizeof ingest, 0, paths, handle};

static sbx_status build_it(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  sbx_json_value root, text;
  sbx_notification note = {.struct_size = sizeof note};
  ON_BUILD
  if (i->json->parse(i->host, input->event->data, &root, error) != SBX_OK) return SBX_E_INVALID;
  if (i->json->at(root, STR("/text"), &text) == SBX_OK) i->json->string(text, &note.body);
  for (size_t k = 0; k < input->recipient_count; k++) {
    sbx_target target = {.struct_size = sizeof target, .recipient = (uint32_t)k};
    sbx_status status = sink->emit(sink, &note, &target, 1, sizeof target);
    if (status != SBX_OK) return status;
  }
  return SBX_OK;
}
static const sbx_build build = {sizeof build, 0, NULL, build_it};

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)i, (void)app, (void)error;
  ON_ENDPOINT
  e->origin = STR(ORIGIN);
  return SBX_OK;
}
static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    ON_PREPARE
    sbx_str body[3] = {one->device->token, STR("\n"), one->notification->body};
    sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/send"), .body = body,
                          .body_segments = 3, .items = &one->id, .item_count = 1};
    ON_REQUEST
    sink->request(sink, &r, 1, sizeof r);
  }
  return SBX_OK;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, r, k, stride);
    ON_CLASSIFY
    for (size_t m = 0; m < one->item_count; m++) {
      int ok = one->http_status / 100 == 2;
      sbx_outcome o = outcome(one->items[m], ok ? SBX_OUTCOME_DELIVERED : SBX_OUTCOME_REJECTED, "http");
      ON_OUTCOME
      sink->settle(sink, &o, 1, sizeof o);
    }
  }
  return SBX_OK;
}
static const sbx_send_http send_http = {sizeof send_http, 0, endpoint, prepare, classify};

static sbx_status report(sbx_instance *i, sbx_str app, const sbx_change *c, size_t n, size_t stride, sbx_http_sink *sink,
                         sbx_error *error) {
  (void)i, (void)app, (void)error;
  uint64_t items[100];
  sbx_str body[200];
  for (size_t k = 0; k < n; k++) {
    const sbx_change *one = SBX_AT(sbx_change, c, k, stride);
    items[k] = one->id;
    body[2 * k] = one->device->token;
    body[2 * k + 1] = STR("\n");
  }
  sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/gone"), .body = body,
                        .body_segments = 2 * n, .items = items, .item_count = n};
  ON_CHANGES
  return sink->request(sink, &r, 1, sizeof r);
}
static sbx_status reported(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, r, k, stride);
    for (size_t m = 0; m < one->item_count; m++) {
      sbx_outcome o = outcome(one->items[m], SBX_OUTCOME_DELIVERED, "ok");
      ON_REPORTED
      sink->settle(sink, &o, 1, sizeof o);
    }
  }
  return SBX_OK;
}
static const sbx_register registrar = {sizeof registrar, 100, KINDS, endpoint, report, reported};

static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride, size_t *taken,
                         sbx_error *error) {
  (void)app, (void)error;
  ON_SUBMIT
  pthread_mutex_lock(&i->lock);
  size_t k = 0;
  for (; k < n && i->waiting < 256; k++) i->queue[i->waiting++] = SBX_AT(sbx_delivery, d, k, stride)->id;
  i->is_short |= k < n;
  pthread_cond_signal(&i->change);
  pthread_mutex_unlock(&i->lock);
  *taken = k;
  ON_TAKEN
  return SBX_OK;
}
static const sbx_send sender = {sizeof sender, 0, submit};

static sbx_status resume_source(sbx_instance *i, uint32_t batches_max, sbx_error *error) {
  (void)batches_max, (void)error;
  const sbx_source_host *to = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  uint64_t token = ++i->token;
  sbx_event e = {.struct_size = sizeof e, .type = STR("base.tick"), .data = STR("{}")};
  ON_RESUME
  ON_BATCH
  to->emit(i->host, token, &e, 1, sizeof e);
  return SBX_OK;
}
static sbx_status pause_source(sbx_instance *i, sbx_error *error) {
  (void)i, (void)error;
  ON_PAUSE
  return SBX_OK;
}
static void settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride) {
  (void)i, (void)results, (void)n, (void)stride;
  ON_SETTLED
}
static const sbx_source source = {sizeof source, 0, resume_source, pause_source, settled};

static sbx_status observe(sbx_instance *i, const sbx_observation *o, size_t n, size_t stride, sbx_error *error) {
  (void)error;
  const sbx_observe_host *to = i->host->service(i->host, SBX_SVC_OBSERVE_HOST);
  uint64_t last = SBX_AT(sbx_observation, o, n - 1, stride)->sequence;
  ON_OBSERVE
  to->done(i->host, last, SBX_OK, 0);
  ON_SEEN
  return SBX_OK;
}
static const sbx_observe observer = {sizeof observer, 0, observe};

static sbx_status filter(sbx_instance *i, const sbx_filter_input *input, sbx_filter_sink *sink, sbx_error *error) {
  (void)i, (void)error;
  sbx_filter_part part = {.struct_size = sizeof part};
  uint32_t first = 0;
  if (input->recipient_count) part.recipients = &first, part.recipient_count = 1;
  ON_FILTER
  return sink->pass(sink, &part);
}
static const sbx_filter filters = {sizeof filters, 0, NULL, filter};

#ifndef ROLE
static const void *role(const char *id) {
  return !strcmp(id, SBX_ROLE_INGEST)      ? (const void *)&ingest
         : !strcmp(id, SBX_ROLE_BUILD)     ? (const void *)&build
         : !strcmp(id, SBX_ROLE_SEND_HTTP) ? (const void *)&send_http
         : !strcmp(id, SBX_ROLE_REGISTER)  ? (const void *)&registrar
         : !strcmp(id, SBX_ROLE_SEND)      ? (const void *)&sender
         : !strcmp(id, SBX_ROLE_SOURCE)    ? (const void *)&source
         : !strcmp(id, SBX_ROLE_OBSERVE)   ? (const void *)&observer
         : !strcmp(id, SBX_ROLE_FILTER)    ? (const void *)&filters
                                           : NULL;
}
#else
ROLE
#endif
static const char *const roles[] = {ROLES, NULL}, *const needs[] = {NEEDS, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, FLAGS, ID, VERSION, SUMMARY, roles,
                                  needs, SCHEMA, create, role, start, stop, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  (void)host, (void)error, (void)say, (void)plugin, (void)source, (void)observer, (void)filters;
  ON_ENTRY
  return RETURNED;
}
