/* The roles send-http and register: items in, requests out; answers in, outcomes out. */
#include "host.h"

struct writing {
  size_t count;
  struct {
    uint64_t items[ITEMS_MAX];
    size_t n;
  } requests[ITEMS_MAX];
};

static sbx_status take_requests(sbx_http_sink *sink, const sbx_http_request *requests, size_t n, size_t stride) {
  struct writing *writing = sink->state;
  for (size_t k = 0; k < n; k++) {
    TAKE(sbx_http_request, r, SBX_AT(sbx_http_request, requests, k, stride));
    if (r.item_count == 0 || r.item_count > ITEMS_MAX || writing->count == ITEMS_MAX) return SBX_E_INVALID;
    printf("request %.*s %.*s", ARG(r.method), ARG(r.path));
    print_pairs("headers", r.headers, r.header_count);
    printf(" body=");
    for (size_t i = 0; i < r.body_segments; i++) printf("%.*s", ARG(r.body[i]));
    printf(" items=");
    for (size_t i = 0; i < r.item_count; i++) {
      printf("%s%llu", i ? "," : "", (unsigned long long)r.items[i]);
      writing->requests[writing->count].items[i] = r.items[i];
    }
    writing->requests[writing->count++].n = r.item_count;
    printf("\n");
  }
  return SBX_OK;
}

static sbx_status settle(sbx_http_sink *sink, const sbx_outcome *outcomes, size_t n, size_t stride) {
  (void)sink;
  print_outcomes(outcomes, n, stride);
  return SBX_OK;
}

static sbx_http_sink *make_sink(struct writing *writing) {
  sbx_http_sink *sink = EDGE(sbx_http_sink, 1);
  *sink = (sbx_http_sink){.struct_size = sizeof *sink, .state = writing, .request = take_requests, .settle = settle};
  FUTURE(sink);
  return sink;
}

typedef sbx_status (*endpoint_fn)(sbx_instance *, sbx_str, sbx_endpoint *, sbx_error *);
typedef sbx_status (*classify_fn)(sbx_instance *, const sbx_http_response *, size_t, size_t, sbx_http_sink *,
                                  sbx_error *);

static void ask_endpoint(struct run *run, endpoint_fn ask, sbx_str app) {
  sbx_endpoint *e = EDGE(sbx_endpoint, 1);
  sbx_error *error = edge_error();
  e->struct_size = sizeof *e;
  FUTURE(e);
  sbx_status status = ask(run->instance, edge_text(app), e, error);
  if (status != SBX_OK) {
    print_fault("endpoint", status, error);
  } else {
    printf("endpoint %.*s ca=%.*s flags=%u request=%u connect=%u idle=%u ping=%u connections=%u streams=%u\n",
           ARG(e->origin), ARG(e->ca_file), e->flags, e->request_timeout_ms, e->connect_timeout_ms, e->ping_idle_ms,
           e->ping_timeout_ms, e->connections_max, e->streams_max);
  }
  edge_release();
}

/* One answer to each request: 200, 410 and 503 in turn. */
static void answer(struct run *run, classify_fn classify, const struct writing *written) {
  static const uint32_t statuses[] = {200, 410, 503};
  struct writing again = {0};
  if (written->count == 0) return;
  sbx_http_response *responses = EDGE(sbx_http_response, written->count);
  for (size_t k = 0; k < written->count; k++) {
    char body[32];
    size_t n = written->requests[k].n;
    uint64_t *items = EDGE(uint64_t, n);
    sbx_kv *header = EDGE(sbx_kv, 1);
    memcpy(items, written->requests[k].items, n * sizeof *items);
    *header = (sbx_kv){edge_text(STR("retry-after")), edge_text(STR("7"))};
    responses[k] = (sbx_http_response){.struct_size = sizeof *responses, .http_status = statuses[k % 3],
      .headers = header, .header_count = 1, .items = items, .item_count = n,
      .body = edge_text((sbx_str){body, (size_t)snprintf(body, sizeof body, "answer %zu", k)})};
    FUTURE(&responses[k]);
  }
  sbx_error *error = edge_error();
  sbx_status status = classify(run->instance, responses, written->count, sizeof *responses, make_sink(&again), error);
  if (status != SBX_OK) print_fault("classify", status, error);
  edge_release();
}

void send_all(struct run *run) {
  const sbx_send_http *given = run->plugin->role(SBX_ROLE_SEND_HTTP);
  struct writing written = {0};
  TAKE(sbx_send_http, role, given);
  printf("send by %u\n", role.max_batch);
  ask_endpoint(run, role.endpoint, STR(""));
  ask_endpoint(run, role.endpoint, STR("other"));
  const sbx_delivery *batch = edge_deliveries(0);
  sbx_error *error = edge_error();
  sbx_status status = role.prepare(run->instance, edge_text(STR("")), batch, delivery_count, sizeof *batch,
                                   make_sink(&written), error);
  if (status != SBX_OK) print_fault("prepare", status, error);
  edge_release();
  answer(run, role.classify, &written);
}

void report_all(struct run *run) {
  const sbx_register *given = run->plugin->role(SBX_ROLE_REGISTER);
  struct writing written = {0};
  TAKE(sbx_register, role, given);
  printf("register by %u kinds=%llu\n", role.max_batch, (unsigned long long)role.kinds);
  ask_endpoint(run, role.endpoint, STR(""));
  const struct event *event = &events[0];
  size_t n = event->raw.recipient_count;
  const uint32_t size = SIZE_OF(sbx_change, reason);
  char *changes = edge(n * size);
  for (size_t k = 0; k < n; k++) {
    sbx_change one = {.struct_size = size, .kind = SBX_CHANGE_INVALID, .id = 200 + k,
      .time_unix_ms = NOW_MS + k, .device = edge_device(&event->devices[k]), .reason = edge_text(STR("Unregistered"))};
    FUTURE(&one);
    memcpy(changes + k * size, &one, size);
  }
  sbx_error *error = edge_error();
  sbx_status status = role.prepare(run->instance, edge_text(STR("")), (void *)changes, n, size, make_sink(&written),
                                   error);
  if (status != SBX_OK) print_fault("prepare", status, error);
  edge_release();
  answer(run, role.classify, &written);
}
