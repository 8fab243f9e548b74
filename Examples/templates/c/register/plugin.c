/* Reports dead tokens to a server: DELETE /devices with the token as body. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
  const sbx_json *json;
  sbx_str endpoint;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, value;
  sbx_str text;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->json = host->service(host, SBX_SVC_JSON);
  if (i->json->parse(host, config, &root, error) || i->json->at(root, SBX_STR("/endpoint"), &value) ||
      i->json->string(value, &text)) {
    free(i);
    return error->message[0] ? SBX_E_INVALID : sbx_fail(error, SBX_E_INVALID, "\"endpoint\" is missing or no text");
  }
  i->endpoint = (sbx_str){strndup(text.ptr, text.len), text.len};
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free((void *)i->endpoint.ptr);
  free(i);
}

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *endpoint, sbx_error *error) {
  (void)app, (void)error;
  endpoint->origin = i->endpoint;
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_change *changes, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_change *one = SBX_AT(sbx_change, changes, k, stride);
    const sbx_device *device = one->device;
    const sbx_str *token = device->source_token.len ? &device->source_token : &device->token;
    sbx_http_request request = {.struct_size = sizeof request, .method = SBX_STR("DELETE"), .path = SBX_STR("/devices"),
                                .body = token, .body_segments = 1, .items = &one->id, .item_count = 1};
    sbx_status status = sink->request(sink, &request, 1, sizeof request);
    if (status) return status;
  }
  return SBX_OK;
}

static sbx_status classify(sbx_instance *i, const sbx_http_response *responses, size_t n, size_t stride,
                           sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, responses, k, stride);
    uint32_t code = one->http_status;
    sbx_outcome o = {.struct_size = sizeof o, .provider_code = code, .reason = SBX_STR("http"),
                     .kind = code / 100 == 2 ? SBX_OUTCOME_DELIVERED : code == 429 ? SBX_OUTCOME_THROTTLED
                           : code / 100 == 5 ? SBX_OUTCOME_RETRY : SBX_OUTCOME_REJECTED};
    for (size_t item = 0; item < one->item_count; item++) {
      o.item = one->items[item];
      sink->settle(sink, &o, 1, sizeof o);
    }
  }
  return SBX_OK;
}

static const sbx_register registrar = {sizeof registrar, 100, 1ull << SBX_CHANGE_INVALID, endpoint, prepare, classify};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_REGISTER) ? NULL : &registrar; }
static const char *const roles[] = {SBX_ROLE_REGISTER, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"endpoint\"],\"properties\":{\"endpoint\":{\"type\":\"string\",\"format\":\"uri\"}}}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
