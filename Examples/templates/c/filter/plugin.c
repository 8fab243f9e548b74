/* Leaves recipients out who are online at the source, and has the pushes of events of low urgency wait an hour. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  (void)config, (void)error;
  if (!(*out = calloc(1, sizeof **out))) return SBX_E_INTERNAL;
  (*out)->host = host;
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

static int is_online(const sbx_recipient *recipient) {
  for (size_t k = 0; k < recipient->attribute_count; k++) {
    const sbx_kv *one = &recipient->attributes[k];
    if (sbx_is(one->key, "online") && sbx_is(one->value, "true")) return 1;
  }
  return 0;
}

static sbx_status filter(sbx_instance *i, const sbx_filter_input *input, sbx_filter_sink *sink, sbx_error *error) {
  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_str urgency = {NULL, 0};
  sbx_status status = json->parse(i->host, input->event->data, &root, error);
  if (status) return status;
  if (!json->at(root, SBX_STR("/urgency"), &value)) json->string(value, &urgency);
  uint32_t *rest = calloc(input->recipient_count + 1, sizeof *rest);
  size_t count = 0;
  if (!rest) return SBX_E_INTERNAL;
  for (uint32_t k = 0; k < input->recipient_count; k++) {
    if (is_online(SBX_AT(sbx_recipient, input->recipients, k, input->recipient_stride))) {
      sink->drop(sink, &k, 1, SBX_STR("online"));
    } else {
      rest[count++] = k;
    }
  }
  /* Whom no call names goes on at once, as it is. */
  sbx_filter_part part = {.struct_size = sizeof part, .recipients = rest, .recipient_count = count,
                          .not_before_unix_ms = input->now_unix_ms + 3600000};
  if (sbx_is(urgency, "low")) status = sink->pass(sink, &part);
  free(rest);
  return status;
}

static const sbx_filter filters = {sizeof filters, 0, NULL, filter};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_FILTER) ? NULL : &filters; }
static const char *const roles[] = {SBX_ROLE_FILTER, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    NULL, create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
