/* The services that this host offers, and the implementation of the small ones:
 * log, clock, secrets. */
#include "host.h"

static uint32_t enabled(const sbx_host *host, uint32_t level) {
  (void)host;
  return level >= SBX_LOG_INFO;
}

static void write_line(const sbx_host *host, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n) {
  static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
  printf("log %s %s %.*s", host->instance, level < 5 ? levels[level] : "unknown", ARG(message));
  for (size_t i = 0; i < n; i++) printf(" %.*s=%.*s", ARG(fields[i].key), ARG(fields[i].value));
  printf("\n");
}

static uint64_t unix_ms(const sbx_host *host) {
  (void)host;
  return NOW_MS;
}

static sbx_status utc_offset(const sbx_host *host, sbx_str zone, uint64_t now, int32_t *seconds) {
  (void)host, (void)zone, (void)now, (void)seconds;
  return SBX_E_NOT_FOUND;
}

static sbx_status get(const sbx_host *host, sbx_str name, void *buffer, size_t *len) {
  (void)host;
  char value[128];
  size_t bytes = (size_t)snprintf(value, sizeof value, "value of %.*s", ARG(name));
  size_t room = *len;
  *len = bytes;
  if (room < bytes) return SBX_E_TOO_LARGE;
  memcpy(buffer, value, bytes);
  return SBX_OK;
}

static sbx_status watch(const sbx_host *host, sbx_str name, void (*fn)(void *), void *context) {
  (void)host, (void)name, (void)fn, (void)context;
  return SBX_OK;
}

static const void *log_service(void) { TABLE(sbx_log, .enabled = enabled, .write = write_line); }
static const void *clock_service(void) { TABLE(sbx_clock, .unix_ms = unix_ms, .utc_offset = utc_offset); }
static const void *secrets_service(void) { TABLE(sbx_secrets, .get = get, .watch = watch); }

static const void *service(const sbx_host *host, const char *id) {
  (void)host;
  if (strcmp(id, SBX_SVC_LOG) == 0) return log_service();
  if (strcmp(id, SBX_SVC_CLOCK) == 0) return clock_service();
  if (strcmp(id, SBX_SVC_SECRETS) == 0) return secrets_service();
  if (strcmp(id, SBX_SVC_JSON) == 0) return json_service();
  if (strcmp(id, SBX_SVC_SEND_HOST) == 0) return send_host_service();
  if (strcmp(id, SBX_SVC_SIGN) == 0) return sign_service();
  if (strcmp(id, SBX_SVC_CREDENTIAL) == 0) return credential_service();
  return NULL;
}

sbx_host *make_host(const char *instance) {
  sbx_host *host = edge_for_good(sizeof *host);
  *host = (sbx_host){.struct_size = sizeof *host, .abi_major = SBX_ABI_MAJOR, .abi_minor = SBX_ABI_MINOR,
                     .name = "host in C", .version = "1", .instance = instance, .service = service};
  FUTURE(host);
  return host;
}
