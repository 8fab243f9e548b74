/* Sends each notification to an HTTP/2 server, as JSON, with a bearer token. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
  const sbx_secrets *secrets;
  sbx_str endpoint, ca, token; /* token: the NAME of a secret; empty: none */
};

static sbx_str text(const sbx_json *json, sbx_json_value config, sbx_str pointer) {
  sbx_json_value value;
  sbx_str out;
  if (json->at(config, pointer, &value) || json->string(value, &out)) return (sbx_str){NULL, 0};
  return (sbx_str){strndup(out.ptr, out.len), out.len};
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root; /* the host has checked it: the schema is at the end */
  sbx_status status = json->parse(host, config, &root, error);
  if (status) return status;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  /* Where the schema says "format": "secret", config holds a name; sbx.secrets/1 has the value. */
  *i = (sbx_instance){host, host->service(host, SBX_SVC_SECRETS), text(json, root, SBX_STR("/endpoint")),
                      text(json, root, SBX_STR("/ca")), text(json, root, SBX_STR("/token"))};
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free((void *)i->endpoint.ptr);
  free((void *)i->ca.ptr);
  free((void *)i->token.ptr);
  free(i);
}

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *endpoint, sbx_error *error) {
  (void)app, (void)error;
  endpoint->origin = i->endpoint;
  endpoint->ca_file = i->ca;
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  char bearer[1024] = "Bearer ";
  size_t len = sizeof bearer - 7;
  (void)app;
  /* Read each time: the file of a secret may be replaced. Keep it out of logs and errors. */
  if (i->token.len && i->secrets->get(i->host, i->token, bearer + 7, &len)) {
    return sbx_fail(error, SBX_E_INTERNAL, "the secret \"token\" cannot be read, or is longer than 1017 bytes");
  }
  sbx_kv headers[] = {{SBX_STR("content-type"), SBX_STR("application/json")}, {SBX_STR("authorization"), {bearer, len + 7}}};
  sbx_out body = sbx_out_begin();
  sbx_status status = SBX_OK;
  for (size_t k = 0; k < n && !status; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, deliveries, k, stride);
    sbx_out_reset(&body);
    sbx_object(&body);
    sbx_member(&body, "to", one->device->token);
    sbx_member(&body, "title", one->notification->title);
    sbx_member(&body, "body", one->notification->body);
    sbx_end(&body);
    sbx_str text = sbx_out_text(&body);
    sbx_http_request request = {.struct_size = sizeof request, .method = SBX_STR("POST"), .path = SBX_STR("/@NAME@"),
                                .headers = headers, .header_count = i->token.len ? 2 : 1, .body = &text,
                                .body_segments = 1, .items = &one->id, .item_count = 1};
    status = body.failed ? SBX_E_INTERNAL : sink->request(sink, &request, 1, sizeof request);
  }
  sbx_out_free(&body);
  return status;
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

static const sbx_send_http sender = {sizeof sender, 0, endpoint, prepare, classify};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND_HTTP) ? NULL : &sender; }
static const char *const roles[] = {SBX_ROLE_SEND_HTTP, NULL}, *const needs[] = {SBX_SVC_JSON, SBX_SVC_SECRETS, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"endpoint\"],\"properties\":{\"endpoint\":{\"type\":\"string\",\"format\":\"uri\"},"
    "\"ca\":{\"type\":\"string\",\"format\":\"path\",\"description\":\"PEM file of roots other than the system's\"},"
    "\"token\":{\"type\":\"string\",\"format\":\"secret\"}}}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
