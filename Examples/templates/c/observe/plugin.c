/* Appends each outcome as a line of JSON to a file, fast enough for the host's thread. A bus or a database
 * needs a queue and a thread of its own, and calls done() from there. */
#include <signalbox/kit.h>

struct sbx_instance {
  const sbx_host *host;
  char *file;
  FILE *open;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_str text;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  if (json->parse(host, config, &root, error) || json->at(root, SBX_STR("/file"), &value) || json->string(value, &text)) {
    free(i);
    return error->message[0] ? SBX_E_INVALID : sbx_fail(error, SBX_E_INVALID, "\"file\" is missing or no text");
  }
  i->file = strndup(text.ptr, text.len);
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free(i->file);
  free(i);
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  if ((i->open = fopen(i->file, "ae"))) return SBX_OK;
  return sbx_fail(error, SBX_E_INVALID, "the file cannot be opened");
}

static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  (void)deadline_ns, (void)error;
  if (i->open) fclose(i->open);
  i->open = NULL;
  return SBX_OK;
}

static sbx_status observe(sbx_instance *i, const sbx_observation *observations, size_t n, size_t stride, sbx_error *error) {
  const sbx_observe_host *out = i->host->service(i->host, SBX_SVC_OBSERVE_HOST);
  uint64_t last = 0;
  (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_observation *one = SBX_AT(sbx_observation, observations, k, stride);
    fprintf(i->open, "%.*s\n", (int)one->json.len, one->json.ptr);
    last = one->sequence;
  }
  /* What is answered with OK never comes again, so it must be written first. */
  int good = fflush(i->open) == 0 && !ferror(i->open);
  clearerr(i->open);
  out->done(i->host, last, good ? SBX_OK : SBX_E_AGAIN, 0);
  return SBX_OK;
}

static const sbx_observe observer = {sizeof observer, 0, observe};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_OBSERVE) ? NULL : &observer; }
static const char *const roles[] = {SBX_ROLE_OBSERVE, NULL}, *const needs[] = {SBX_SVC_JSON, SBX_SVC_OBSERVE_HOST, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"file\"],\"properties\":{\"file\":{\"type\":\"string\"}}}", create, role, start, stop, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
