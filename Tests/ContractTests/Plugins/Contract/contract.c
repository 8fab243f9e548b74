/* The plugin's description, and the life of an instance. */
#include "contract.h"

#ifndef NEEDS_MINOR
#define NEEDS_MINOR 0
#endif

struct reach reach;

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  SEE(host);
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i || !(i->config = strndup(config.ptr, config.len))) return fail(error, SBX_E_INTERNAL, "no memory");
  i->host = host;
  i->log = host->service(host, SBX_SVC_LOG);
  i->clock = host->service(host, SBX_SVC_CLOCK);
  SEE(i->log);
  SEE(i->clock);
  *out = i;
  return SBX_OK;
}

static void say(sbx_instance *i, sbx_str message, const sbx_kv *fields, size_t n) {
  if (i->log->enabled(i->host, SBX_LOG_INFO)) i->log->write(i->host, SBX_LOG_INFO, message, fields, n);
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  const sbx_secrets *secrets = i->host->service(i->host, SBX_SVC_SECRETS);
  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
  sbx_error *words = calloc(1, sizeof *words);
  sbx_json_value root;
  char secret[64], length[16];
  size_t bytes = sizeof secret;
  if (i->host->service(i->host, "sbx.teapot/1")) return fail(error, SBX_E_INTERNAL, "a service that nobody knows");
  SEE(secrets);
  SEE(json);
  if (!words) return fail(error, SBX_E_INTERNAL, "no memory");
  words->struct_size = sizeof *words;
  FUTURE(words);
  /* A host writes into the plugin's struct, but not past its end. */
  json->parse(i->host, STR("{"), &root, words);
  sbx_str told = words->status == SBX_E_INVALID && words->message[0] ? STR("told") : STR("not told");
#ifdef SBX_NEXT
  if (words->next_number != (__typeof__(words->next_number))MARK) told = STR("overwritten");
#endif
  free(words);
  if (secrets->get(i->host, STR("key"), secret, &bytes) != SBX_OK) return fail(error, SBX_E_INVALID, "no secret");
  sbx_kv fields[] = {{STR("instance"), {i->host->instance, strlen(i->host->instance)}},
                     {STR("config"), {i->config, strlen(i->config)}},
                     {STR("secret_bytes"), TEXT(length, "%zu", bytes)}, {STR("fault"), told}};
  say(i, STR("started"), fields, 4);
  return SBX_OK;
}

static sbx_status stop(sbx_instance *i, uint64_t deadline, sbx_error *error) {
  char with[16], without[16], wrong[16], other[16], handled[16];
  if (deadline == 0) return fail(error, SBX_E_INTERNAL, "no deadline");
  sbx_kv count = {STR("handled"), TEXT(handled, "%u", i->handled)};
  say(i, STR("stopped"), &count, 1);
  sbx_kv fields[] = {{STR("with"), TEXT(with, "%u", reach.with)},
                     {STR("without"), TEXT(without, "%u", reach.without)},
                     {STR("wrong"), TEXT(wrong, "%u", reach.wrong)},
                     {STR("other"), TEXT(other, "%u", reach.other)}};
  say(i, STR("reach"), fields, 4);
  return SBX_OK;
}

static void destroy(sbx_instance *i) {
  free(i->config);
  free(i);
}

static const void *role(const char *id) {
  if (strcmp(id, SBX_ROLE_INGEST) == 0) return ingest_role();
  if (strcmp(id, SBX_ROLE_BUILD) == 0) return build_role();
  if (strcmp(id, SBX_ROLE_SEND_HTTP) == 0) return send_role();
  if (strcmp(id, SBX_ROLE_SEND) == 0) return deliver_role();
  if (strcmp(id, SBX_ROLE_REGISTER) == 0) return register_role();
  return NULL;
}

const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  static const char *const roles[] = {SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_SEND,
                                      SBX_ROLE_REGISTER, NULL};
  static const char *const needs[] = {SBX_SVC_LOG, SBX_SVC_CLOCK, SBX_SVC_SECRETS, SBX_SVC_JSON, SBX_SVC_SEND_HOST,
                                      NULL};
  static sbx_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = SBX_ABI_MAJOR, .abi_minor = SBX_ABI_MINOR, .needs_minor = NEEDS_MINOR,
    .flags = SBX_F_SERIAL, .id = "org.example.contract", .version = "1.2.3", .summary = "has every role",
    .roles = roles, .needs = needs, .create = create, .role = role, .start = start, .stop = stop, .destroy = destroy};
  FUTURE(&plugin);
  if (host->abi_major != SBX_ABI_MAJOR) {
    fail(error, SBX_E_VERSION, "another major");
    return NULL;
  }
  return &plugin;
}
