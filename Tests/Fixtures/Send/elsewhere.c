/* A sender for tests. A token "https://..." names the origin of its request, a token that begins with "bad" a malformed one; every
 * other goes to the endpoint. The context of a request, its platform, comes back as the provider's id.
 *
 * With the token "move" the endpoint becomes `next`, and the host is told so. A trailer becomes the reason.
 *
 * config: endpoint, next, ca; flags: SBX_ENDPOINT_*, and 1024: it names a client certificate. */
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

struct sbx_instance {
  const sbx_host *host;
  sbx_str origin, next, ca;
  _Atomic int has_moved;
  int64_t flags;
};

static sbx_str text_of(const sbx_json *json, sbx_json_value root, sbx_str at) {
  sbx_json_value value;
  sbx_str text = {0};
  if (json->at(root, at, &value) || json->string(value, &text)) return (sbx_str){0};
  return (sbx_str){strndup(text.ptr, text.len), text.len};
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i || json->parse(host, config, &root, error)) return SBX_E_INTERNAL;
  i->host = host;
  i->origin = text_of(json, root, STR("/endpoint"));
  i->next = text_of(json, root, STR("/next"));
  i->ca = text_of(json, root, STR("/ca"));
  if (!json->at(root, STR("/flags"), &value)) json->integer(value, &i->flags);
  *out = i;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free((void *)i->origin.ptr), free((void *)i->next.ptr), free((void *)i->ca.ptr), free(i); }

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)app, (void)error;
  e->origin = i->has_moved ? i->next : i->origin, e->ca_file = i->ca, e->flags = (uint32_t)i->flags & 1023;
  if (i->flags & 1024) e->client_certificate = STR("certificate");
  return SBX_OK;
}

static int begins(sbx_str text, const char *word) { return text.len >= strlen(word) && !memcmp(text.ptr, word, strlen(word)); }

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    sbx_str token = one->device->token;
    sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/push"),
                          .body = &token, .body_segments = 1, .items = &one->id, .item_count = 1,
                          .context = one->device->platform};
    if (begins(token, "https://")) r.origin = token;
    if (begins(token, "move") && !i->has_moved) {
      const sbx_endpoint_host *host = i->host->service(i->host, SBX_SVC_ENDPOINT_HOST);
      i->has_moved = 1;
      host->changed(i->host);
    }
    if (begins(token, "bad")) r.origin = (sbx_str){token.ptr + 3, token.len - 3};
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
                     .kind = one->http_status / 100 == 2 ? SBX_OUTCOME_DELIVERED : SBX_OUTCOME_REJECTED,
                     .provider_id = one->context};
    if (one->trailer_count) o.reason = one->headers[one->header_count - one->trailer_count].value;
    sink->settle(sink, &o, 1, sizeof o);
  }
  return SBX_OK;
}

static const sbx_send_http send_http = {sizeof send_http, 0, endpoint, prepare, classify};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND_HTTP) ? NULL : &send_http; }
static const char *const roles[] = {SBX_ROLE_SEND_HTTP, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "org.example.elsewhere", "0.1.0",
  "sends to origins of tokens", roles, needs, "{\"type\":\"object\",\"required\":[\"endpoint\"],\"properties\":{"
  "\"endpoint\":{\"type\":\"string\"},\"next\":{\"type\":\"string\"},\"ca\":{\"type\":\"string\"},\"flags\":{\"type\":\"integer\"}}}", create, role, NULL, NULL,
  destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) { (void)h, (void)e; return &plugin; }
