/* The smallest useful plugin: sends each notification's body to an HTTP/2 server as plain text.
 * Build: cc -shared -fPIC -I include -o libHelloC.so Plugins/HelloC/hello.c */
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
struct sbx_instance { const sbx_json *json; sbx_str origin; };

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, value;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->json = host->service(host, SBX_SVC_JSON);
  if (i->json->parse(host, config, &root, error) == SBX_OK &&
      i->json->at(root, STR("/endpoint"), &value) == SBX_OK && i->json->string(value, &i->origin) == SBX_OK)
    i->origin.ptr = strndup(i->origin.ptr, i->origin.len);
  *out = i;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free((void *)i->origin.ptr); free(i); }

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)app, (void)error;
  e->origin = i->origin;
  return SBX_OK;
}
static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/hello"),
                          .body = &one->notification->body, .body_segments = 1, .items = &one->id, .item_count = 1};
    sink->request(sink, &r, 1, sizeof r);
  }
  return SBX_OK;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, r, k, stride);
    sbx_outcome o = {.struct_size = sizeof o, .item = one->items[0], .provider_code = one->http_status, .reason = STR("http"),
                     .kind = one->http_status / 100 == 2 ? SBX_OUTCOME_DELIVERED : SBX_OUTCOME_REJECTED};
    sink->settle(sink, &o, 1, sizeof o);
  }
  return SBX_OK;
}
static const sbx_send_http send = {sizeof send, 0, endpoint, prepare, classify};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND_HTTP) ? NULL : &send; }
static const char *const roles[] = {SBX_ROLE_SEND_HTTP, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.hello", "0.1.0",
  "posts bodies as plain text", roles, needs, "{\"type\":\"object\",\"required\":[\"endpoint\"],"
  "\"properties\":{\"endpoint\":{\"type\":\"string\"}}}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) { (void)h, (void)e; return &plugin; }
