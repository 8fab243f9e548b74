/* Accepts {"id": "1", "user": "u", "text": "hello"} from whoever knows the token, and notifies the user. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
  const sbx_json *json;
  const sbx_secrets *secrets;
  sbx_str path;
  sbx_ingest_path served;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_json_value root, value;
  sbx_str text;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->json = host->service(host, SBX_SVC_JSON);
  i->secrets = host->service(host, SBX_SVC_SECRETS);
  if (i->json->parse(host, config, &root, error) || i->json->at(root, SBX_STR("/path"), &value) ||
      i->json->string(value, &text)) {
    free(i);
    return error->message[0] ? SBX_E_INVALID : sbx_fail(error, SBX_E_INVALID, "\"path\" is missing or no text");
  }
  i->path = (sbx_str){strndup(text.ptr, text.len), text.len};
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free((void *)i->path.ptr);
  free(i);
}

static sbx_status paths(sbx_instance *i, const sbx_ingest_path **list, size_t *n, size_t *stride) {
  i->served = (sbx_ingest_path){.struct_size = sizeof i->served, .pattern = i->path, .methods = SBX_STR("POST")};
  *list = &i->served, *n = 1, *stride = sizeof i->served;
  return SBX_OK;
}

/* Whether the sender knows the token: read each time, since the file of a secret may be replaced. */
static int is_known(sbx_instance *i, const sbx_request *request) {
  char bearer[1024] = "Bearer ";
  size_t len = sizeof bearer - 7;
  if (i->secrets->get(i->host, SBX_STR("token"), bearer + 7, &len)) return 0;
  for (size_t k = 0; k < request->header_count; k++)
    if (sbx_is(request->headers[k].key, "authorization"))
      return sbx_same_secret(request->headers[k].value, (sbx_str){bearer, 7 + len});
  return 0;
}

static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  sbx_json_value root, value;
  sbx_str user, id = {0};
  if (!is_known(i, request)) return sbx_fail(error, SBX_E_AUTH, "the token is missing or wrong");
  sbx_status status = i->json->parse(i->host, request->body, &root, error);
  if (status) return status;
  if (i->json->at(root, SBX_STR("/user"), &value) || i->json->string(value, &user) || !user.len) {
    return sbx_fail(error, SBX_E_INVALID, "\"user\" is missing or no text");
  }
  sbx_device device = {.struct_size = sizeof device, .user = user};
  sbx_recipient to = {.struct_size = sizeof to, .device = &device};
  /* The same message again is no second push. */
  if (!i->json->at(root, SBX_STR("/id"), &value)) i->json->string(value, &id);
  sbx_event event = {.struct_size = sizeof event, .type = SBX_STR("message.sent"), .dedupe = id, .recipients = &to,
                     .recipient_count = 1, .recipient_stride = sizeof to};
  status = i->json->text(root, &event.data); /* routes and builders read this */
  return status ? status : sink->emit(sink, &event, 1, sizeof event);
}

static const sbx_ingest ingest = {sizeof ingest, 0, paths, handle};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_INGEST) ? NULL : &ingest; }
static const char *const roles[] = {SBX_ROLE_INGEST, NULL}, *const needs[] = {SBX_SVC_JSON, SBX_SVC_SECRETS, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"path\",\"token\"],\"properties\":{"
    "\"path\":{\"type\":\"string\",\"pattern\":\"^/[!-~]+$\"},"
    "\"token\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":16,\"maxLength\":1000}}}",
    create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
