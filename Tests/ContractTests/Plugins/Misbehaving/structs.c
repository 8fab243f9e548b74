/* A plugin that passes one kind of struct with a wrong size or stride, {"struct": "sbx_outcome",
 * "size": 0}, in every call that takes one. It logs the result of each call. */
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
struct sbx_instance {
  const sbx_host *host;
  char name[32];
  int64_t size, stride; /* below 0: the correct value */
};
static size_t given(sbx_instance *i, const char *name, int64_t wrong, size_t right) {
  return wrong < 0 || strcmp(i->name, name) ? right : (size_t)wrong;
}
#define SIZE(type) (uint32_t)given(i, #type, i->size, sizeof(type))
#define STRIDE(type) given(i, #type, i->stride, sizeof(type))

static const void *service(sbx_instance *i, const char *id) { return i->host->service(i->host, id); }
static void returned(sbx_instance *i, const char *call, sbx_status status) {
  const sbx_log *log = service(i, SBX_SVC_LOG);
  char line[80];
  int length = snprintf(line, sizeof line, "%s %d", call, status);
  log->write(i->host, SBX_LOG_INFO, (sbx_str){line, (size_t)length}, NULL, 0);
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_str name;
  sbx_instance *i = calloc(1, sizeof *i);
  *i = (struct sbx_instance){.host = host, .size = -1, .stride = -1};
  if (json->parse(host, config, &root, error)) return SBX_E_INVALID;
  if (!json->at(root, STR("/struct"), &value) && !json->string(value, &name)) memcpy(i->name, name.ptr, name.len);
  if (!json->at(root, STR("/size"), &value)) json->integer(value, &i->size);
  if (!json->at(root, STR("/stride"), &value)) json->integer(value, &i->stride);
  *out = i;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free(i); }

static sbx_status paths(sbx_instance *i, const sbx_ingest_path **out, size_t *n, size_t *stride) {
  static sbx_ingest_path path = {0, 0, {"/in", 3}, {"POST", 4}};
  path.struct_size = SIZE(sbx_ingest_path);
  *out = &path, *n = 1, *stride = STRIDE(sbx_ingest_path);
  return SBX_OK;
}

static void answered(void *context, const sbx_http_answer *answer) { (void)context, (void)answer; }
static void changed(void *context, sbx_status status, const sbx_device *devices, size_t n, size_t stride) {
  (void)context, (void)status, (void)devices, (void)n, (void)stride;
}
static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  const sbx_http *http = service(i, SBX_SVC_HTTP);
  const sbx_registry *registry = service(i, SBX_SVC_REGISTRY);
  const sbx_sign *sign = service(i, SBX_SVC_SIGN);
  sbx_error wrong = {.struct_size = SIZE(sbx_error), .message = "told"};
  (void)error;
  if (request->body.len) {
    sbx_status status = sink->defer(sink, 10000);
    if (status == SBX_OK) sink->finish(sink, SBX_E_AUTH, &wrong);
    return status;
  }
  sbx_http_call call = {.struct_size = SIZE(sbx_http_call), .url = STR("https://h/")};
  returned(i, "submit", http->submit(i->host, &call, answered, NULL));
  sbx_device device = {.struct_size = SIZE(sbx_device), .platform = STR("ios"), .token = STR("t")};
  sbx_change change = {.struct_size = SIZE(sbx_change), .kind = SBX_CHANGE_REGISTERED, .device = &device};
  returned(i, "registry", registry->change(i->host, &change, changed, NULL));
  size_t length = 0;
  returned(i, "sign", sign->sign(i->host, 99, STR("k"), STR(""), STR(""), NULL, &length, &wrong));
  sbx_recipient recipient = {.struct_size = SIZE(sbx_recipient), .device = &device};
  sbx_event event = {.struct_size = SIZE(sbx_event), .type = STR("a.b"), .recipients = &recipient, .recipient_count = 1,
                     .recipient_stride = STRIDE(sbx_recipient)};
  returned(i, "emit", sink->emit(sink, &event, 1, STRIDE(sbx_event)));
  returned(i, "change", sink->change(sink, &change, 1, STRIDE(sbx_change)));
  return SBX_OK;
}

static sbx_status build(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  sbx_notification note = {.struct_size = SIZE(sbx_notification), .title = STR("t")};
  sbx_target target = {.struct_size = SIZE(sbx_target)};
  (void)input, (void)error;
  returned(i, "build", sink->emit(sink, &note, &target, 1, STRIDE(sbx_target)));
  return SBX_OK;
}

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)app, (void)error;
  *e = (sbx_endpoint){.struct_size = SIZE(sbx_endpoint), .origin = STR("https://h")};
  return SBX_OK;
}
/* Renders the first delivery as a request and settles the others. */
static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  sbx_http_request r = {.struct_size = SIZE(sbx_http_request), .method = STR("POST"), .path = STR("/p"),
                        .items = &d->id, .item_count = 1};
  (void)app, (void)error;
  returned(i, "request", sink->request(sink, &r, 1, STRIDE(sbx_http_request)));
  for (size_t k = 1; k < n; k++) {
    sbx_outcome o = {.struct_size = SIZE(sbx_outcome), .kind = SBX_OUTCOME_DELIVERED, .reason = STR("ok"),
                     .item = SBX_AT(sbx_delivery, d, k, stride)->id};
    returned(i, "settle", sink->settle(sink, &o, 1, STRIDE(sbx_outcome)));
  }
  return SBX_OK;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)r, (void)n, (void)stride, (void)sink, (void)error;
  return SBX_OK;
}
static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride, size_t *taken,
                         sbx_error *error) {
  const sbx_send_host *out = service(i, SBX_SVC_SEND_HOST);
  (void)app, (void)error;
  *taken = n;
  for (size_t k = 0; k < n; k++) {
    sbx_outcome o = {.struct_size = SIZE(sbx_outcome), .kind = SBX_OUTCOME_DELIVERED, .reason = STR("ok"),
                     .item = SBX_AT(sbx_delivery, d, k, stride)->id};
    out->complete(i->host, &o, 1, STRIDE(sbx_outcome));
  }
  return SBX_OK;
}

#ifndef TABLE
#define TABLE(type) sizeof(type)
#endif
#ifndef DESCRIPTOR
#define DESCRIPTOR sizeof(sbx_plugin)
#endif
#ifndef MINOR
#define MINOR SBX_ABI_MINOR
#endif
static const sbx_ingest ingest = {TABLE(sbx_ingest), 0, paths, handle};
static const sbx_build builder = {TABLE(sbx_build), 0, NULL, build};
static const sbx_send_http send_http = {TABLE(sbx_send_http), 0, endpoint, prepare, classify};
static const sbx_send sender = {TABLE(sbx_send), 0, submit};
static const sbx_register registrar = {TABLE(sbx_register), 0, 0, endpoint, NULL, classify};
static const void *role(const char *id) {
  return !strcmp(id, SBX_ROLE_INGEST)      ? (const void *)&ingest
         : !strcmp(id, SBX_ROLE_BUILD)     ? (const void *)&builder
         : !strcmp(id, SBX_ROLE_SEND_HTTP) ? (const void *)&send_http
         : !strcmp(id, SBX_ROLE_SEND)      ? (const void *)&sender
                                           : (const void *)&registrar;
}
static const char *const roles[] = {SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_SEND,
                                    SBX_ROLE_REGISTER, NULL};
static const sbx_plugin plugin = {DESCRIPTOR, SBX_ABI_MAJOR, MINOR, 0, 0, "org.example.structs", "1", "wrong sizes", roles,
                                  NULL, "{\"type\":\"object\"}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  (void)host, (void)error;
  return &plugin;
}
