/* connect.c - the connection, which the library restores by itself once it stood. */
#include "instance.h"

#include <signal.h>
#include <string.h>

void nats_log(sbx_instance *i, uint32_t level, const char *message, const char *key, const char *value) {
  sbx_kv field = {{key, strlen(key)}, {value ? value : "", value ? strlen(value) : 0}};
  if (i->log) i->log->write(i->host, level, (sbx_str){message, strlen(message)}, &field, key[0] ? 1 : 0);
}

void nats_condition(sbx_instance *i, sbx_status status, const char *reason) {
  const sbx_source_host *host = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  if (host) host->condition(i->host, status, (sbx_str){reason, strlen(reason)});
}

static void show(sbx_instance *i, bool is_connected) {
  if (i->metrics) i->metrics->set(i->host, i->connected_gauge, is_connected);
}

static bool is_closing(sbx_instance *i) {
  pthread_mutex_lock(&i->lock);
  bool is = i->is_closing;
  pthread_mutex_unlock(&i->lock);
  return is;
}

static void disconnected(natsConnection *connection, void *context) {
  sbx_instance *i = context;
  const char *why = NULL;
  if (is_closing(i)) return;
  natsConnection_GetLastError(connection, &why);
  show(i, false);
  nats_condition(i, SBX_E_UNREACHABLE, why && why[0] ? why : "the connection to NATS broke");
  nats_log(i, SBX_LOG_WARN, "the connection to NATS broke, it is being restored", "error", why);
}

static void reconnected(natsConnection *connection, void *context) {
  sbx_instance *i = context;
  char server[300] = "";
  if (is_closing(i)) return;
  natsConnection_GetConnectedUrl(connection, server, sizeof server);
  show(i, true);
  nats_condition(i, SBX_OK, "");
  nats_log(i, SBX_LOG_INFO, "connected to NATS again", "server", server);
}

static natsStatus log_in(sbx_instance *i, natsOptions *options) {
  const sbx_secrets *secrets = i->host->service(i->host, SBX_SVC_SECRETS);
  const nats_config *config = &i->config;
  char secret[1024];
  size_t len = sizeof secret - 1;
  natsStatus status = NATS_OK;
  if (config->credentials_file[0])
    return natsOptions_SetUserCredentialsFromFiles(options, config->credentials_file, NULL);
  if (!config->has_password && !config->has_token) return NATS_OK;
  sbx_str name = config->has_token ? STR("token") : STR("password");
  if (!secrets || secrets->get(i->host, name, secret, &len) != SBX_OK) return NATS_NOT_PERMITTED;
  while (len && (secret[len - 1] == '\n' || secret[len - 1] == '\r')) len--;
  secret[len] = 0;
  status = config->has_token ? natsOptions_SetToken(options, secret)
                             : natsOptions_SetUserInfo(options, config->user, secret);
  explicit_bzero(secret, sizeof secret);
  return status;
}

static natsStatus set(sbx_instance *i, natsOptions *options) {
  const nats_config *config = &i->config;
  bool is_tls = false;
  for (int k = 0; k < config->server_count; k++) is_tls |= !strncmp(config->servers[k], "tls://", 6);
  natsStatus status = natsOptions_SetServers(options, (const char **)config->servers, config->server_count);
  if (status == NATS_OK) status = natsOptions_SetName(options, config->name);
  if (status == NATS_OK) status = natsOptions_SetTimeout(options, 3000);
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(options, -1);
  if (status == NATS_OK) status = natsOptions_SetReconnectWait(options, 250);
  if (status == NATS_OK) status = natsOptions_SetPingInterval(options, 5000);
  if (status == NATS_OK) status = natsOptions_SetMaxPingsOut(options, 2);
  if (status == NATS_OK) status = natsOptions_SetDisconnectedCB(options, disconnected, i);
  if (status == NATS_OK) status = natsOptions_SetReconnectedCB(options, reconnected, i);
  if (status == NATS_OK && is_tls) status = natsOptions_SetSecure(options, true);
  if (status == NATS_OK && is_tls && config->ca_file[0])
    status = natsOptions_LoadCATrustedCertificates(options, config->ca_file);
  return status == NATS_OK ? log_in(i, options) : status;
}

/* A server did not store what was published. */
static void not_stored(jsCtx *stream, jsPubAckErr *fault, void *context) {
  (void)stream, (void)fault;
  sbx_instance *i = context;
  pthread_mutex_lock(&i->lock);
  i->was_refused = true;
  pthread_mutex_unlock(&i->lock);
}

/* When the library of NATS is opened, it sets SIGPIPE to ignored: a handler of the program's own must stay. */
static void open_library(void) {
  struct sigaction before;
  bool is_known = !sigaction(SIGPIPE, NULL, &before);
  // What fails here, fails again where the options are made, and is told there.
  (void)nats_Open(-1);
  if (is_known && before.sa_handler != SIG_DFL) sigaction(SIGPIPE, &before, NULL);
}

static sbx_status connect_now(sbx_instance *i, sbx_error *error) {
  static pthread_once_t is_open = PTHREAD_ONCE_INIT;
  pthread_once(&is_open, open_library);
  pthread_mutex_lock(&i->lock);
  i->is_closing = false;
  pthread_mutex_unlock(&i->lock);
  natsOptions *options = NULL;
  jsOptions limits;
  natsStatus status = natsOptions_Create(&options);
  if (status == NATS_OK) status = set(i, options);
  if (status == NATS_OK) status = natsConnection_Connect(&i->connection, options);
  natsOptions_Destroy(options);
  jsOptions_Init(&limits);
  limits.Wait = 3000;
  limits.PublishAsync.ErrHandler = not_stored;
  limits.PublishAsync.ErrHandlerClosure = i;
  if (status == NATS_OK) status = natsConnection_JetStream(&i->stream, i->connection, &limits);
  show(i, status == NATS_OK);
  if (status == NATS_OK) return SBX_OK;
  nats_disconnect(i);
  bool is_login = status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED;
  return nats_refuse(error, is_login ? SBX_E_AUTH : SBX_E_UNREACHABLE,
                     is_login ? "NATS refuses the login" : "no server of NATS can be reached", natsStatus_GetText(status));
}

sbx_status nats_connect(sbx_instance *i, sbx_error *error) {
  pthread_mutex_lock(&i->connecting);
  sbx_status status = i->connection ? SBX_OK : connect_now(i, error);
  pthread_mutex_unlock(&i->connecting);
  return status;
}

void nats_disconnect(sbx_instance *i) {
  jsCtx_Destroy(i->stream);
  i->stream = NULL;
  pthread_mutex_lock(&i->lock);
  i->is_closing = true;
  pthread_mutex_unlock(&i->lock);
  // Acknowledgements that are under way.
  if (i->connection) natsConnection_FlushTimeout(i->connection, 1000);
  natsConnection_Destroy(i->connection);
  i->connection = NULL;
}
