/* connect.c - clients of the library, which connects, and reconnects, by itself. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t kafka_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void kafka_log(sbx_instance *i, uint32_t level, const char *message, const char *key, const char *value) {
  sbx_kv field = {{key, strlen(key)}, {value ? value : "", value ? strlen(value) : 0}};
  if (i->log) i->log->write(i->host, level, (sbx_str){message, strlen(message)}, &field, key[0] ? 1 : 0);
}

void kafka_condition(sbx_instance *i, sbx_status status, const char *reason) {
  const sbx_source_host *host = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  pthread_mutex_lock(&i->lock);
  bool is_new = i->condition != status;
  i->condition = status;
  pthread_mutex_unlock(&i->lock);
  if (!is_new) return;
  if (i->metrics) i->metrics->set(i->host, i->connected_gauge, status == SBX_OK);
  if (host) host->condition(i->host, status, (sbx_str){reason, strlen(reason)});
}

/* On a thread that polls. The fetcher finds out when the brokers are back. */
static void failed(rd_kafka_t *client, int code, const char *reason, void *context) {
  sbx_instance *i = context;
  bool is_login = code == RD_KAFKA_RESP_ERR__AUTHENTICATION;
  bool is_away = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  if (rd_kafka_type(client) == RD_KAFKA_PRODUCER && (is_login || is_away)) i->is_producer_away = true;
  if (rd_kafka_type(client) == RD_KAFKA_CONSUMER && (is_login || is_away)) {
    pthread_mutex_lock(&i->lock);
    i->is_away |= is_away;
    i->is_login_refused |= is_login;
    pthread_mutex_unlock(&i->lock);
  } else {
    kafka_log(i, SBX_LOG_DEBUG, "a connection to Kafka failed", "error", reason);
  }
}

/* The library writes to standard error otherwise. */
static void logged(const rd_kafka_t *client, int level, const char *facility, const char *text) {
  (void)facility;
  sbx_instance *i = rd_kafka_opaque(client);
  kafka_log(i, level <= 3 ? SBX_LOG_WARN : SBX_LOG_DEBUG, "message of librdkafka", "text", text);
}

typedef struct setting {
  const char *name, *value;
} setting;

/* The library's words would show the value. */
static bool set(rd_kafka_conf_t *conf, const char *name, const char *value, sbx_error *error) {
  rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, NULL, 0);
  if (result == RD_KAFKA_CONF_OK) return true;
  kafka_refuse(error, SBX_E_INVALID,
               result == RD_KAFKA_CONF_UNKNOWN ? "librdkafka does not know this property"
                                               : "librdkafka refuses the value of this property", name);
  return false;
}

static bool log_in(sbx_instance *i, rd_kafka_conf_t *conf, sbx_error *error) {
  const sbx_secrets *secrets = i->host->service(i->host, SBX_SVC_SECRETS);
  char secret[1024];
  size_t len = sizeof secret - 1;
  if (!secrets || secrets->get(i->host, STR("password"), secret, &len) != SBX_OK) {
    kafka_refuse(error, SBX_E_AUTH, "the password cannot be read", "");
    return false;
  }
  while (len && (secret[len - 1] == '\n' || secret[len - 1] == '\r')) len--;
  secret[len] = 0;
  bool is_set = set(conf, "sasl.mechanism", i->config.sasl, error) &&
                set(conf, "sasl.username", i->config.username, error) && set(conf, "sasl.password", secret, error);
  explicit_bzero(secret, sizeof secret);
  return is_set;
}

static bool set_all(sbx_instance *i, rd_kafka_conf_t *conf, sbx_error *error) {
  const kafka_config *config = &i->config;
  bool is_sasl = config->has_password;
  const char *protocol = config->is_tls ? (is_sasl ? "sasl_ssl" : "ssl") : (is_sasl ? "sasl_plaintext" : "plaintext");
  const setting settings[] = {{"bootstrap.servers", config->brokers}, {"client.id", config->name},
                              {"security.protocol", protocol}, {"log.connection.close", "false"},
                              {"socket.timeout.ms", "10000"}, {"reconnect.backoff.max.ms", "2000"}};
  for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
    if (!set(conf, settings[k].name, settings[k].value, error)) return false;
  if (config->ca_file[0] && !set(conf, "ssl.ca.location", config->ca_file, error)) return false;
  for (int k = 0; k < config->property_count; k++)
    if (!set(conf, config->properties[2 * k], config->properties[2 * k + 1], error)) return false;
  return !is_sasl || log_in(i, conf, error);
}

rd_kafka_t *kafka_client(sbx_instance *i, rd_kafka_type_t type, rd_kafka_conf_t *conf, sbx_error *error) {
  char why[200] = "";
  rd_kafka_conf_set_opaque(conf, i);
  rd_kafka_conf_set_error_cb(conf, failed);
  rd_kafka_conf_set_log_cb(conf, logged);
  if (set_all(i, conf, error)) {
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof why);
    if (client) return client;
    kafka_refuse(error, SBX_E_INVALID, "no client of Kafka can be made", why);
  }
  rd_kafka_conf_destroy(conf);
  return NULL;
}
