/* config.c - reads the instance's part of gateway.yaml. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char nats_config_schema[] =
  "{\"type\":\"object\",\"required\":[\"servers\"],\"properties\":{"
  "\"servers\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":32,\"items\":{\"type\":\"string\","
  "\"pattern\":\"^(nats|tls)://[^@/]+$\",\"maxLength\":300},"
  "\"description\":\"servers of one cluster, such as nats://nats-1:4222, or tls://nats-1:4222\"},"
  "\"ca_file\":{\"type\":\"string\",\"format\":\"path\",\"default\":\"\","
  "\"description\":\"PEM file of trusted roots for tls:// instead of the system's\"},"
  "\"user\":{\"type\":\"string\",\"maxLength\":255,\"default\":\"\",\"description\":\"account; needs password\"},"
  "\"password\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":1023,"
  "\"description\":\"the account's password, such as ${file:secrets/nats}\"},"
  "\"token\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":1023,"
  "\"description\":\"a token in place of user and password\"},"
  "\"credentials_file\":{\"type\":\"string\",\"format\":\"path\",\"default\":\"\","
  "\"description\":\"a .creds file with JWT and key, in place of user and token\"},"
  "\"stream\":{\"type\":\"string\",\"pattern\":\"^[^ .*>/]*$\",\"maxLength\":255,\"default\":\"\","
  "\"description\":\"the JetStream stream whose messages are events\"},"
  "\"consumer\":{\"type\":\"string\",\"pattern\":\"^[^ .*>/]*$\",\"maxLength\":255,\"default\":\"signalbox\","
  "\"description\":\"name of the durable consumer, which is created if it does not exist\"},"
  "\"subject\":{\"type\":\"string\",\"pattern\":\"^[^ ]*$\",\"maxLength\":255,\"default\":\"\","
  "\"description\":\"those of the stream's subjects that are events, such as orders.>; empty: all\"},"
  "\"deliver\":{\"type\":\"string\",\"enum\":[\"all\",\"new\"],\"default\":\"all\","
  "\"description\":\"where a new consumer begins: at the first message of the stream, or at the next one\"},"
  BUS_MAP_SCHEMA ","
  "\"publish\":{\"type\":\"string\",\"pattern\":\"^[^ *>]*$\",\"maxLength\":255,\"default\":\"\","
  "\"description\":\"the subject that outcomes are published to; a stream must take it\"}}}";

sbx_status nats_refuse(sbx_error *error, sbx_status status, const char *message, const char *detail) {
  if (error && SBX_HAS(error, message)) {
    error->status = status;
    snprintf(error->message, sizeof error->message, detail[0] ? "%s: %s" : "%s%s", message, detail);
  }
  return status;
}

static char *text_at(const sbx_json *json, sbx_json_value root, sbx_str pointer) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (json->at(root, pointer, &value) == SBX_OK) json->string(value, &text);
  return text.len ? strndup(text.ptr, text.len) : strdup("");
}

static bool is_there(const sbx_json *json, sbx_json_value root, sbx_str pointer) {
  sbx_json_value value;
  return json->at(root, pointer, &value) == SBX_OK;
}

static sbx_status read_servers(const sbx_json *json, sbx_json_value root, nats_config *config) {
  sbx_json_value list, value;
  sbx_json_cursor cursor;
  sbx_str key, text;
  if (json->at(root, STR("/servers"), &list) || json->first(list, &cursor)) return SBX_E_INVALID;
  config->servers = calloc(json->count(list) + 1, sizeof *config->servers);
  if (!config->servers) return SBX_E_INTERNAL;
  while (json->next(&cursor, &key, &value) == SBX_OK && json->string(value, &text) == SBX_OK)
    config->servers[config->server_count++] = strndup(text.ptr, text.len);
  return config->server_count > 0 ? SBX_OK : SBX_E_INVALID;
}

/* Rules between keys; the schema has checked the rest. */
static sbx_status check(const nats_config *config, sbx_error *error) {
  int logins = (config->user[0] != 0) + config->has_token + (config->credentials_file[0] != 0);
  if (logins > 1)
    return nats_refuse(error, SBX_E_INVALID, "user, token and credentials_file exclude each other: keep one", "");
  if ((config->user[0] != 0) != config->has_password)
    return nats_refuse(error, SBX_E_INVALID, "user and password belong together: add the other one", "");
  if (!config->stream[0] && !config->publish[0])
    return nats_refuse(error, SBX_E_INVALID,
                       "there is nothing to do: set stream to take events in, or publish to send outcomes out", "");
  return SBX_OK;
}

sbx_status nats_config_read(const sbx_host *host, sbx_str text, nats_config *config, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root;
  sbx_status status = json->parse(host, text, &root, error);
  if (status != SBX_OK) return status;
  status = read_servers(json, root, config);
  if (status != SBX_OK) return nats_refuse(error, status, "servers needs at least one address", "");
  config->ca_file = text_at(json, root, STR("/ca_file"));
  config->credentials_file = text_at(json, root, STR("/credentials_file"));
  config->user = text_at(json, root, STR("/user"));
  config->stream = text_at(json, root, STR("/stream"));
  config->consumer = text_at(json, root, STR("/consumer"));
  config->subject = text_at(json, root, STR("/subject"));
  config->publish = text_at(json, root, STR("/publish"));
  char *deliver = text_at(json, root, STR("/deliver"));
  config->is_new_only = deliver && !strcmp(deliver, "new");
  free(deliver);
  config->name = strdup(host->instance);
  config->has_password = is_there(json, root, STR("/password"));
  config->has_token = is_there(json, root, STR("/token"));
  if (bus_map_read(json, root, &config->map) != SBX_OK || !config->ca_file || !config->credentials_file || !config->user || !config->stream || !config->consumer ||
      !config->subject || !config->publish || !config->name)
    return nats_refuse(error, SBX_E_INTERNAL, "there is no memory", "");
  return check(config, error);
}

void nats_config_free(nats_config *config) {
  for (int k = 0; k < config->server_count; k++) free(config->servers[k]);
  free(config->servers);
  free(config->ca_file);
  free(config->credentials_file);
  free(config->user);
  free(config->stream);
  free(config->consumer);
  free(config->subject);
  free(config->publish);
  free(config->name);
  bus_map_free(&config->map);
}
