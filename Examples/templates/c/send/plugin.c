/* Appends each notification as a line to a file: a transport of its own, fast enough for the
 * host's thread. A transport that waits for a network needs a queue and threads of its own,
 * and settles from there. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
  const sbx_json *json;
  sbx_str file;
  FILE *open;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, value;
  sbx_str text;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->json = host->service(host, SBX_SVC_JSON);
  if (i->json->parse(host, config, &root, error) || i->json->at(root, SBX_STR("/file"), &value) ||
      i->json->string(value, &text)) {
    free(i);
    return error->message[0] ? SBX_E_INVALID : sbx_fail(error, SBX_E_INVALID, "\"file\" is missing or no text");
  }
  i->file = (sbx_str){strndup(text.ptr, text.len), text.len};
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free((void *)i->file.ptr);
  free(i);
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  if ((i->open = fopen(i->file.ptr, "ae"))) return SBX_OK;
  return sbx_fail(error, SBX_E_INVALID, "the file cannot be opened");
}

static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  (void)deadline_ns, (void)error;
  if (i->open) fclose(i->open);
  i->open = NULL;
  return SBX_OK;
}

static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                         size_t *taken, sbx_error *error) {
  const sbx_send_host *out = i->host->service(i->host, SBX_SVC_SEND_HOST);
  (void)app, (void)error;
  *taken = n;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, deliveries, k, stride);
    sbx_str body = one->notification->body;
    int good = fprintf(i->open, "%.*s\n", (int)body.len, body.ptr ? body.ptr : "") > 0 && fflush(i->open) == 0;
    sbx_outcome o = {.struct_size = sizeof o, .item = one->id, .reason = good ? SBX_STR("written") : SBX_STR("disk"),
                     .kind = good ? SBX_OUTCOME_DELIVERED : SBX_OUTCOME_RETRY};
    out->complete(i->host, &o, 1, sizeof o);
  }
  return SBX_OK;
}

static const sbx_send sender = {sizeof sender, 0, submit};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND) ? NULL : &sender; }
static const char *const roles[] = {SBX_ROLE_SEND, NULL}, *const needs[] = {SBX_SVC_JSON, SBX_SVC_SEND_HOST, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"file\"],\"properties\":{\"file\":{\"type\":\"string\"}}}", create, role, start, stop, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
