/* Sends each notification to an HTTP/2 server, as JSON, with a bearer token. */
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

struct sbx_instance {
  const sbx_host *host;
  const sbx_json *json;
  const sbx_secrets *secrets;
  sbx_str endpoint, key; /* key: the NAME of a secret; empty: none */
};

/* A JSON string with its quotes, written to *at, which needs room for six times the text and two more. */
static sbx_str json_string(char **at, sbx_str s) {
  char *start = *at, *end = start;
  *end++ = '"';
  for (size_t k = 0; k < s.len; k++) {
    unsigned char c = (unsigned char)s.ptr[k];
    if (c == '"' || c == '\\') *end++ = '\\';
    if (c < 0x20) end += sprintf(end, "\\u%04x", c);
    else *end++ = (char)c;
  }
  *end++ = '"';
  *at = end;
  return (sbx_str){start, (size_t)(end - start)};
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, value;
  sbx_str text;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->json = host->service(host, SBX_SVC_JSON);
  if (i->json->parse(host, config, &root, error) || i->json->at(root, STR("/endpoint"), &value) ||
      i->json->string(value, &text)) {
    free(i);
    if (!error->message[0]) strcpy(error->message, "\"endpoint\" is missing or no text");
    return SBX_E_INVALID;
  }
  i->endpoint = (sbx_str){strndup(text.ptr, text.len), text.len};
  /* Where the schema says "format": "secret", config holds a name; sbx.secrets/1 has the value. */
  i->secrets = host->service(host, SBX_SVC_SECRETS);
  if (!i->json->at(root, STR("/key"), &value) && !i->json->string(value, &text))
    i->key = (sbx_str){strndup(text.ptr, text.len), text.len};
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free((void *)i->endpoint.ptr);
  free((void *)i->key.ptr);
  free(i);
}

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *endpoint, sbx_error *error) {
  (void)app, (void)error;
  endpoint->origin = i->endpoint;
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  char bearer[1024] = "Bearer ";
  size_t len = sizeof bearer - 7;
  (void)app;
  /* Read each time: the file of a secret may be replaced. Keep it out of logs and errors. */
  if (i->key.len && i->secrets->get(i->host, i->key, bearer + 7, &len)) {
    strcpy(error->message, "the secret \"key\" cannot be read, or is longer than 1017 bytes");
    return SBX_E_INTERNAL;
  }
  sbx_kv headers[] = {{STR("content-type"), STR("application/json")}, {STR("authorization"), {bearer, len + 7}}};
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, deliveries, k, stride);
    sbx_str to = one->device->token, title = one->notification->title, text = one->notification->body;
    char *room = malloc(6 * (to.len + title.len + text.len + 1)), *at = room;
    if (!room) return SBX_E_INTERNAL;
    sbx_str body[] = {STR("{\"to\":"), json_string(&at, to), STR(",\"title\":"), json_string(&at, title),
                      STR(",\"body\":"), json_string(&at, text), STR("}")};
    sbx_http_request request = {.struct_size = sizeof request, .method = STR("POST"), .path = STR("/@NAME@"),
                                .headers = headers, .header_count = i->key.len ? 2 : 1, .body = body,
                                .body_segments = 7, .items = &one->id, .item_count = 1};
    sbx_status status = sink->request(sink, &request, 1, sizeof request);
    free(room);
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
    sbx_outcome o = {.struct_size = sizeof o, .provider_code = code, .reason = STR("http"),
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
    "\"key\":{\"type\":\"string\",\"format\":\"secret\"}}}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
