/* A plugin as one that was made before the last fields came: each struct_size ends in front of a field, and
 * what lies behind it is somebody else's memory. A host that takes it for the field shows "behind". */
#include "../Contract/contract.h"

#define UP_TO(type, field) offsetof(type, field)
#define BEHIND STR("behind")

struct reach reach;
static const sbx_kv behind = {{"behind", 6}, {"behind", 6}};

static void call_done(void *context, const sbx_http_answer *answer) { (void)context, (void)answer; }

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_instance *i = calloc(1, sizeof *i);
  (void)config, (void)error;
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  *out = i;
  return SBX_OK;
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  const sbx_http *http = i->host->service(i->host, SBX_SVC_HTTP);
  sbx_http_call call = {.struct_size = UP_TO(sbx_http_call, timeout_ms), .url = STR("https://h/"), .timeout_ms = 77,
                        .redirects_max = 77};
  (void)error;
  return http->call(i->host, &call, call_done, NULL);
}

static void destroy(sbx_instance *i) { free(i); }

static sbx_status paths(sbx_instance *i, const sbx_ingest_path **out, size_t *n, size_t *stride) {
  static const sbx_ingest_path path = {.struct_size = UP_TO(sbx_ingest_path, methods), .pattern = {"/p", 2},
                                       .methods = {"BEHIND", 6}};
  (void)i;
  *out = &path, *n = 1, *stride = sizeof path;
  return SBX_OK;
}

static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  sbx_device device = {.struct_size = UP_TO(sbx_device, attributes), .platform = STR("ios"), .token = STR("t"),
                       .attributes = &behind, .attribute_count = 1};
  sbx_recipient recipient = {.struct_size = UP_TO(sbx_recipient, attributes), .device = &device, .attributes = &behind,
                             .attribute_count = 1};
  sbx_event events[] = {{.struct_size = sizeof *events, .type = STR("whole"), .recipients = &recipient,
                         .recipient_count = 1, .recipient_stride = sizeof recipient},
                        {.struct_size = UP_TO(sbx_event, time_unix_ms), .type = STR("short"), .time_unix_ms = 77,
                         .recipients = &recipient, .recipient_count = 1, .recipient_stride = sizeof recipient}};
  sbx_change change = {.struct_size = UP_TO(sbx_change, reason), .kind = SBX_CHANGE_REGISTERED, .device = &device,
                       .reason = BEHIND};
  sbx_error late = {.struct_size = UP_TO(sbx_error, message), .status = SBX_E_AUTH, .message = "behind"};
  (void)i, (void)error;
  if (is(request->body, "wrong")) {
    sbx_status status = sink->defer(sink, 10000);
    if (status == SBX_OK) sink->finish(sink, SBX_E_AUTH, &late);
    return status;
  }
  sbx_status status = sink->emit(sink, events, 2, sizeof *events);
  return status == SBX_OK ? sink->change(sink, &change, 1, sizeof change) : status;
}

static sbx_status build(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  sbx_notification note = {.struct_size = UP_TO(sbx_notification, push_type), .title = STR("t"), .push_type = BEHIND,
                           .data = BEHIND, .overrides = &behind, .override_count = 1};
  sbx_target target = {.struct_size = UP_TO(sbx_target, badge), .flags = SBX_T_BADGE, .badge = 77};
  (void)i, (void)input, (void)error;
  return sink->emit(sink, &note, &target, 1, sizeof target);
}

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *out, sbx_error *error) {
  (void)i, (void)app, (void)error;
  out->origin = STR("https://h");
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  const sbx_str text = BEHIND;
  sbx_http_request request = {.struct_size = UP_TO(sbx_http_request, items), .method = STR("POST"), .path = STR("/p"),
                              .body = &text, .body_segments = 1, .items = &d->id, .item_count = 1};
  sbx_outcome outcome = {.struct_size = UP_TO(sbx_outcome, detail), .kind = SBX_OUTCOME_RETRY, .item = d->id,
                         .reason = STR("short"), .detail = BEHIND, .provider_id = BEHIND, .new_token = BEHIND,
                         .credential = BEHIND};
  (void)i, (void)app, (void)n, (void)stride, (void)error;
  /* Without items it stands for nothing, so it is malformed. */
  if (sink->request(sink, &request, 1, sizeof request) == SBX_E_INVALID) outcome.reason = STR("short-request");
  return sink->settle(sink, &outcome, 1, sizeof outcome);
}

static const sbx_ingest ingest = {.struct_size = sizeof ingest, .paths = paths, .handle = handle};
static const sbx_build builder = {.struct_size = sizeof builder, .build = build};
static const sbx_send_http sender = {.struct_size = sizeof sender, .endpoint = endpoint, .prepare = prepare};
static const void *role(const char *id) {
  if (strcmp(id, SBX_ROLE_INGEST) == 0) return &ingest;
  if (strcmp(id, SBX_ROLE_BUILD) == 0) return &builder;
  return strcmp(id, SBX_ROLE_SEND_HTTP) == 0 ? &sender : NULL;
}

const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  static const char *const roles[] = {SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, NULL};
  static const sbx_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = SBX_ABI_MAJOR, .id = "org.example.short", .version = "1",
    .roles = roles, .create = create, .role = role, .start = start, .destroy = destroy};
  (void)host, (void)error;
  return &plugin;
}
