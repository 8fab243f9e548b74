/* Builds a notification from the event's "title" and "text". */
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

static sbx_str text(const sbx_json *json, sbx_json_value root, sbx_str pointer) {
  sbx_json_value value;
  sbx_str out = {NULL, 0};
  if (json->at(root, pointer, &value) || json->string(value, &out)) return (sbx_str){NULL, 0};
  return out;
}

static sbx_status build(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
  sbx_json_value root;
  sbx_status status = json->parse(i->host, input->event->data, &root, error);
  if (status) return status;
  sbx_notification note = {.struct_size = sizeof note, .title = text(json, root, SBX_STR("/title")),
                           .body = text(json, root, SBX_STR("/text"))};
  /* One content for all recipients is rendered once. */
  sbx_target *all = calloc(input->recipient_count + 1, sizeof *all);
  if (!all) return SBX_E_INTERNAL;
  for (size_t k = 0; k < input->recipient_count; k++)
    all[k] = (sbx_target){.struct_size = sizeof *all, .recipient = (uint32_t)k};
  status = sink->emit(sink, &note, all, input->recipient_count, sizeof *all);
  free(all);
  return status;
}

static const sbx_build builder = {sizeof builder, 0, NULL, build};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_BUILD) ? NULL : &builder; }
static const char *const roles[] = {SBX_ROLE_BUILD, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    NULL, create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
