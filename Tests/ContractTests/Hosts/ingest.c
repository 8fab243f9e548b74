/* The role ingest: a request in; events, changes, rejects and an answer out. */
#include "host.h"

struct event events[ITEMS_MAX];
size_t event_count;

void show_paths(struct run *run) {
  const sbx_ingest *given = run->plugin->role(SBX_ROLE_INGEST);
  const sbx_ingest_path *list = NULL;
  size_t n = 0, stride = 0;
  TAKE(sbx_ingest, role, given);
  if (role.paths(run->instance, &list, &n, &stride) != SBX_OK) die("no paths");
  for (size_t k = 0; k < n; k++) {
    TAKE(sbx_ingest_path, path, SBX_AT(sbx_ingest_path, list, k, stride));
    printf("path %.*s %.*s\n", ARG(path.pattern), ARG(path.methods));
  }
}

static sbx_device keep_device(const sbx_device *given) {
  TAKE(sbx_device, d, given);
  sbx_str *texts[] = {&d.app, &d.platform, &d.provider, &d.token, &d.source_token, &d.user, &d.locale};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = keep(*texts[i]);
  d.attributes = keep_pairs(d.attributes, d.attribute_count);
  return d;
}

static sbx_status emit(sbx_ingest_sink *sink, const sbx_event *given, size_t n, size_t stride) {
  uint64_t *received = sink->state;
  for (size_t k = 0; k < n; k++) {
    TAKE(sbx_event, e, SBX_AT(sbx_event, given, k, stride));
    if (event_count == ITEMS_MAX || e.recipient_count > ITEMS_MAX) return SBX_E_TOO_LARGE;
    struct event *kept = &events[event_count++];
    kept->raw = (sbx_event){.type = keep(e.type), .subject = keep(e.subject), .dedupe = keep(e.dedupe),
                            .data = keep(e.data.len ? e.data : STR("{}")), .recipient_count = e.recipient_count,
                            .time_unix_ms = e.time_unix_ms ? e.time_unix_ms : *received};
    printf("event type=%.*s subject=%.*s dedupe=%.*s data=%.*s time=%llu\n", ARG(kept->raw.type),
           ARG(kept->raw.subject), ARG(kept->raw.dedupe), ARG(kept->raw.data),
           (unsigned long long)kept->raw.time_unix_ms);
    for (size_t i = 0; i < e.recipient_count; i++) {
      TAKE(sbx_recipient, r, SBX_AT(sbx_recipient, e.recipients, i, e.recipient_stride));
      kept->devices[i] = keep_device(r.device);
      kept->recipients[i] = (sbx_recipient){.attributes = keep_pairs(r.attributes, r.attribute_count),
                                            .attribute_count = r.attribute_count};
      print_device("recipient", &kept->devices[i]);
      print_pairs("said", r.attributes, r.attribute_count);
      printf("\n");
    }
  }
  return SBX_OK;
}

static sbx_status change(sbx_ingest_sink *sink, const sbx_change *changes, size_t n, size_t stride) {
  (void)sink;
  for (size_t k = 0; k < n; k++) {
    TAKE(sbx_change, c, SBX_AT(sbx_change, changes, k, stride));
    sbx_device device = keep_device(c.device);
    printf("change kind=%u time=%llu reason=%.*s", c.kind, (unsigned long long)c.time_unix_ms, ARG(c.reason));
    print_device("", &device);
    printf("\n");
  }
  return SBX_OK;
}

/* Printed at the end of the call, whenever they were made. */
static sbx_kv rejects[ITEMS_MAX];
static size_t reject_count;

static sbx_status reject(sbx_ingest_sink *sink, sbx_str reason, sbx_str detail) {
  (void)sink;
  if (reject_count == ITEMS_MAX) return SBX_E_TOO_LARGE;
  rejects[reject_count++] = (sbx_kv){keep(reason), keep(detail)};
  return SBX_OK;
}

static sbx_status respond(sbx_ingest_sink *sink, uint32_t status, const sbx_kv *headers, size_t n, sbx_str body) {
  (void)sink;
  printf("answer %u", status);
  print_pairs("headers", headers, n);
  printf(" body=%.*s\n", ARG(body));
  return SBX_OK;
}

static sbx_status defer(sbx_ingest_sink *sink, uint32_t timeout_ms) {
  (void)sink, (void)timeout_ms;
  return SBX_E_UNSUPPORTED;
}

static void finish(sbx_ingest_sink *sink, sbx_status status, const sbx_error *error) {
  (void)sink, (void)status, (void)error;
}

/* "a:1,b:2" as pairs. */
static sbx_kv *edge_headers(const char *text, size_t *n) {
  size_t count = 1;
  for (const char *c = text; *c; c++) count += *c == ',';
  sbx_kv *out = EDGE(sbx_kv, count);
  for (*n = 0; *n < count; (*n)++) {
    size_t name = strcspn(text, ":"), value = strcspn(text + name, ",");
    if (value == 0) die("a header without a value");
    out[*n] = (sbx_kv){edge_text((sbx_str){text, name}), edge_text((sbx_str){text + name + 1, value - 1})};
    text += name + value + 1;
  }
  return out;
}

void ingest(struct run *run, const char *path, const char *pattern, const char *headers, const char *body) {
  const sbx_ingest *given = run->plugin->role(SBX_ROLE_INGEST);
  uint64_t received = NOW_MS - 1000;
  TAKE(sbx_ingest, role, given);
  sbx_ingest_sink *sink = EDGE(sbx_ingest_sink, 1);
  *sink = (sbx_ingest_sink){.struct_size = sizeof *sink, .state = &received, .emit = emit, .change = change,
                            .reject = reject, .respond = respond, .defer = defer, .finish = finish};
  size_t header_count;
  sbx_kv *param = EDGE(sbx_kv, 1), *header = edge_headers(headers, &header_count);
  *param = (sbx_kv){edge_text(STR("shop")), edge_text(STR("garden"))};
  sbx_request *request = EDGE(sbx_request, 1);
  *request = (sbx_request){.struct_size = sizeof *request, .method = edge_text(STR("POST")),
    .path = edge_text((sbx_str){path, strlen(path)}), .query = edge_text(STR("q=1")),
    .remote = edge_text(STR("192.0.2.1")), .pattern = edge_text((sbx_str){pattern, strlen(pattern)}),
    .body = edge_text((sbx_str){body, strlen(body)}), .client_certificate = edge_text(STR("CN=shop")),
    .params = param, .param_count = 1, .headers = header, .header_count = header_count, .received_unix_ms = received};
  FUTURE(sink);
  FUTURE(request);
  sbx_error *error = edge_error();
  printf("handle\n");
  sbx_status status = role.handle(run->instance, request, sink, error);
  for (size_t k = 0; k < reject_count; k++) printf("reject %.*s: %.*s\n", ARG(rejects[k].key), ARG(rejects[k].value));
  reject_count = 0;
  if (status != SBX_OK) print_fault("handle", status, error);
  edge_release();
}
