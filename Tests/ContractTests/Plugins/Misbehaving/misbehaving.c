/* A plugin that breaks the rule named in its config: {"rule": "..."}. */
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
struct sbx_instance {
  const sbx_host *host;
  char rule[64];
  void *sink; /* kept after its call */
};
static const void *service(sbx_instance *i, const char *id) { return i->host->service(i->host, id); }
static int is(sbx_instance *i, const char *rule) { return strcmp(i->rule, rule) == 0; }
static char megabytes[3 << 20];

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_str rule;
  sbx_instance *i = calloc(1, sizeof *i);
  memset(megabytes, 'x', sizeof megabytes);
  i->host = host;
  if (json->parse(host, config, &root, error) || json->at(root, STR("/rule"), &value) || json->string(value, &rule))
    return SBX_E_INVALID;
  memcpy(i->rule, rule.ptr, rule.len);
  if (is(i, "no-instance")) return SBX_OK;
  if (is(i, "long-error")) {
    memset(error->message, 'e', sizeof error->message); /* and no NUL */
    return SBX_E_INVALID;
  }
  *out = i;
  return SBX_OK;
}
static sbx_status refresh(sbx_instance *i, sbx_str name, sbx_error *error) { return (void)i, (void)name, (void)error, SBX_OK; }
static sbx_status start(sbx_instance *i, sbx_error *error) { return (void)error, is(i, "unknown-status") ? 77 : SBX_OK; }
static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  (void)deadline_ns, (void)error;
  if (is(i, "slow-stop")) return SBX_E_TIMEOUT;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free(i); }

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)i, (void)app, (void)error;
  e->origin = STR("https://h");
  return SBX_OK;
}
static sbx_status settle(sbx_http_sink *sink, uint64_t item, uint32_t kind, sbx_str reason) {
  sbx_outcome o = {.struct_size = sizeof o, .kind = kind, .item = item, .reason = reason};
  return sink->settle(sink, &o, 1, sizeof o);
}
static void *late_settle(void *sink) { return settle(sink, 1, SBX_OUTCOME_DELIVERED, STR("late")), NULL; }
static void done(void *context, const sbx_http_answer *answer) { (void)context, (void)answer; }

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  (void)app, (void)error;
  if (is(i, "forget")) return SBX_OK;
  if (is(i, "status-of-prepare")) return 77;
  if (is(i, "late-sink")) {
    if (!i->sink) i->sink = sink;
    else { /* the sink of the previous call, on another thread */
      pthread_t t;
      pthread_create(&t, NULL, late_settle, i->sink);
      pthread_join(t, NULL);
    }
  }
  if (is(i, "wrong-thread")) {
    const sbx_http *http = service(i, SBX_SVC_HTTP);
    const sbx_credential *credential = service(i, SBX_SVC_CREDENTIAL);
    const sbx_secrets *secrets = service(i, SBX_SVC_SECRETS);
    sbx_http_call call = {.struct_size = sizeof call, .url = STR("https://127.0.0.1:1/")};
    if (http->call(i->host, &call, done, NULL) != SBX_E_INVALID) abort();
    if (credential->define(i->host, STR("c"), 0, refresh) != SBX_E_INVALID) abort();
    if (secrets->watch(i->host, STR("s"), (void (*)(void *))free, NULL) != SBX_E_INVALID) abort();
  }
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    if (is(i, "long-request") || is(i, "long-header")) {
      sbx_str body = {megabytes, sizeof megabytes};
      sbx_kv header = {STR("a"), {megabytes, 65536}};
      sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/p"),
                            .items = &one->id, .item_count = 1};
      /* With the name the first one's length is no number: the limit is met before anything is read. */
      if (k == 0) header.value.len = PTRDIFF_MAX;
      if (is(i, "long-header")) r.headers = &header, r.header_count = 1;
      else r.body = &body, r.body_segments = 1;
      if (sink->request(sink, &r, 1, sizeof r) != SBX_E_INVALID) abort();
    }
    if (is(i, "unknown-kind")) settle(sink, one->id, 99, STR("ok"));
    else if (is(i, "long-reason")) settle(sink, one->id, SBX_OUTCOME_REJECTED, (sbx_str){megabytes, sizeof megabytes});
    else settle(sink, one->id, SBX_OUTCOME_DELIVERED, STR("ok"));
    if (is(i, "twice") && settle(sink, one->id, SBX_OUTCOME_REJECTED, STR("no")) != SBX_E_INVALID) abort();
  }
  return is(i, "part-and-failure") ? SBX_E_INTERNAL : SBX_OK;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)r, (void)n, (void)stride, (void)sink, (void)error;
  return SBX_E_INTERNAL;
}
static sbx_status paths(sbx_instance *i, const sbx_ingest_path **out, size_t *n, size_t *stride) {
  static sbx_ingest_path path = {sizeof path, 0, {"/in", 3}, {"POST", 4}};
  (void)i;
  *out = &path, *n = 1, *stride = sizeof path;
  return SBX_OK;
}
static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  (void)request, (void)error;
  if (is(i, "finish-twice")) {
    sink->defer(sink, 10000);
    sink->finish(sink, SBX_OK, NULL);
    sink->finish(sink, SBX_OK, NULL);
  }
  if (is(i, "late-ingest")) {
    sbx_ingest_sink *before = i->sink;
    sbx_event event = {.struct_size = sizeof event, .type = STR("late")};
    if (before && before->emit(before, &event, 1, sizeof event) != SBX_E_INVALID) abort();
    i->sink = sink;
  }
  return SBX_OK;
}
static const sbx_send_http send_http = {sizeof send_http, 0, endpoint, prepare, classify};
static const sbx_ingest ingest = {sizeof ingest, 0, paths, handle};
static const void *role(const char *id) {
  if (!strcmp(id, SBX_ROLE_SEND_HTTP)) return &send_http;
  return strcmp(id, SBX_ROLE_INGEST) ? NULL : &ingest; /* and none for build */
}
static const char *const roles[] = {SBX_ROLE_SEND_HTTP, SBX_ROLE_INGEST, SBX_ROLE_BUILD, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.misbehaving", "1", "breaks rules", roles, NULL,
                                  "{\"type\":\"object\",\"properties\":{\"rule\":{\"type\":\"string\"}}}", create, role,
                                  start, stop, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  (void)host, (void)error;
#ifdef CRASH_IN_ENTRY
  abort();
#endif
#ifdef EXIT_IN_ENTRY
  _exit(0);
#endif
  return &plugin;
}
