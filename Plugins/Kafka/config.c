/* config.c - reads the instance's part of gateway.yaml. */
#include "instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char kafka_config_schema[] =
  "{\"type\":\"object\",\"required\":[\"brokers\"],\"properties\":{"
  "\"brokers\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":32,\"items\":{\"type\":\"string\","
  "\"pattern\":\"^[^,/@ ]+:[0-9]{1,5}$\",\"maxLength\":300,\"description\":\"host and port, such as kafka-1:9092\"},"
  "\"description\":\"some brokers of the cluster, such as kafka-1:9092; the others are found through them\"},"
  "\"tls\":{\"type\":\"boolean\",\"default\":false},"
  "\"ca_file\":{\"type\":\"string\",\"format\":\"path\",\"default\":\"\","
  "\"description\":\"PEM file of trusted roots instead of the system's; needs tls: true\"},"
  "\"sasl\":{\"type\":\"string\",\"enum\":[\"PLAIN\",\"SCRAM-SHA-256\",\"SCRAM-SHA-512\"],"
  "\"default\":\"SCRAM-SHA-512\",\"description\":\"how to log in\"},"
  "\"username\":{\"type\":\"string\",\"maxLength\":255,\"default\":\"\",\"description\":\"needs password\"},"
  "\"password\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":1023,"
  "\"description\":\"of the user, such as ${file:secrets/kafka}\"},"
  "\"topics\":{\"type\":\"array\",\"maxItems\":64,\"default\":[],\"items\":{\"type\":\"string\","
  "\"pattern\":\"^[a-zA-Z0-9._-]{1,249}$\"},\"description\":\"the topics whose messages are events\"},"
  "\"group\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":249,\"default\":\"signalbox\","
  "\"description\":\"the consumer group; gateways of one group share the messages\"},"
  "\"offset_reset\":{\"type\":\"string\",\"enum\":[\"earliest\",\"latest\"],\"default\":\"earliest\","
  "\"description\":\"where a new group begins: at the first message of a topic, or at the next one\"},"
  BUS_MAP_SCHEMA ","
  "\"publish\":{\"type\":\"string\",\"pattern\":\"^[a-zA-Z0-9._-]{0,249}$\",\"default\":\"\","
  "\"description\":\"the topic that outcomes are published to\"},"
  "\"properties\":{\"type\":\"object\",\"additionalProperties\":true,"
  "\"description\":\"more settings of librdkafka, such as { client.rack: eu-1 }\"}}}";

/* What the plugin sets itself: another value would lose messages, or say one thing twice. */
static const char *const reserved[] = {
  "bootstrap.servers", "metadata.broker.list", "group.id", "enable.auto.commit", "enable.auto.offset.store",
  "auto.offset.reset", "partition.assignment.strategy", "security.protocol", "ssl.ca.location", "sasl.mechanism",
  "sasl.mechanisms", "sasl.username", "sasl.password", "acks", "request.required.acks", "enable.idempotence",
  "plugin.library.paths", "message.timeout.ms", NULL};

sbx_status kafka_refuse(sbx_error *error, sbx_status status, const char *message, const char *detail) {
  if (error && SBX_HAS(error, message))
    snprintf(error->message, sizeof error->message, detail[0] ? "%s: %s" : "%s%s", message, detail);
  return status;
}

static char *text_at(const sbx_json *json, sbx_json_value root, const char *pointer) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (json->at(root, (sbx_str){pointer, strlen(pointer)}, &value) == SBX_OK) json->string(value, &text);
  return strndup(text.len ? text.ptr : "", text.len);
}

static bool is_true(const sbx_json *json, sbx_json_value root, const char *pointer) {
  sbx_json_value value;
  uint32_t is = 0;
  return json->at(root, (sbx_str){pointer, strlen(pointer)}, &value) == SBX_OK &&
         json->boolean(value, &is) == SBX_OK && is;
}

static sbx_status read_brokers(const sbx_json *json, sbx_json_value root, kafka_config *config) {
  sbx_json_value list, value;
  sbx_json_cursor cursor;
  sbx_str key, text;
  size_t length = 0;
  if (json->at(root, STR("/brokers"), &list) || json->first(list, &cursor))
    return (config->brokers = strdup("")) ? SBX_OK : SBX_E_INTERNAL;
  config->brokers = calloc(json->count(list) + 1, 302);
  while (config->brokers && json->next(&cursor, &key, &value) == SBX_OK && json->string(value, &text) == SBX_OK)
    length += (size_t)sprintf(config->brokers + length, "%s%.300s", length ? "," : "", text.ptr);
  return config->brokers ? SBX_OK : SBX_E_INTERNAL;
}

static sbx_status read_topics(const sbx_json *json, sbx_json_value root, kafka_config *config) {
  sbx_json_value list, value;
  sbx_json_cursor cursor;
  sbx_str key, text;
  if (json->at(root, STR("/topics"), &list) || json->first(list, &cursor)) return SBX_OK;
  config->topics = calloc(json->count(list) + 1, sizeof *config->topics);
  if (!config->topics) return SBX_E_INTERNAL;
  while (json->next(&cursor, &key, &value) == SBX_OK && json->string(value, &text) == SBX_OK)
    if (!(config->topics[config->topic_count++] = strndup(text.ptr, text.len))) return SBX_E_INTERNAL;
  return SBX_OK;
}

static sbx_status read_properties(const sbx_json *json, sbx_json_value root, kafka_config *config, sbx_error *error) {
  sbx_json_value object, value;
  sbx_json_cursor cursor;
  sbx_str key, text;
  if (json->at(root, STR("/properties"), &object) || json->first(object, &cursor)) return SBX_OK;
  config->properties = calloc(json->count(object) + 1, 2 * sizeof *config->properties);
  if (!config->properties) return SBX_E_INTERNAL;
  while (json->next(&cursor, &key, &value) == SBX_OK) {
    char **pair = config->properties + 2 * config->property_count;
    uint32_t kind = json->kind(value);
    if (kind == SBX_JSON_STRING) json->string(value, &text);
    else json->text(value, &text);
    pair[0] = strndup(key.ptr, key.len);
    pair[1] = strndup(text.len ? text.ptr : "", text.len);
    config->property_count++;
    if (!pair[0] || !pair[1]) return SBX_E_INTERNAL;
    if (kind == SBX_JSON_ARRAY || kind == SBX_JSON_OBJECT || kind == SBX_JSON_NULL)
      return kafka_refuse(error, SBX_E_INVALID, "a property must be a text, a number or a boolean", pair[0]);
    for (const char *const *name = reserved; *name; name++)
      if (!strcmp(*name, pair[0]))
        return kafka_refuse(error, SBX_E_INVALID,
                            "this property is the plugin's own; use its keys (docs in Plugins/Kafka/README.md)", pair[0]);
  }
  return SBX_OK;
}

/* Rules between keys; the schema has checked the rest. */
static sbx_status check(const kafka_config *config, sbx_error *error) {
  if ((config->username[0] != 0) != config->has_password)
    return kafka_refuse(error, SBX_E_INVALID, "username and password belong together: add the other one", "");
  if (config->ca_file[0] && !config->is_tls)
    return kafka_refuse(error, SBX_E_INVALID, "ca_file is for TLS: set tls: true", "");
  if (!config->topic_count && !config->publish[0])
    return kafka_refuse(error, SBX_E_INVALID,
                        "there is nothing to do: set topics to take events in, or publish to send outcomes out", "");
  for (int k = 0; k < config->topic_count; k++)
    if (!strcmp(config->topics[k], config->publish))
      return kafka_refuse(error, SBX_E_INVALID, "outcomes would come back as events: publish to another topic",
                          config->publish);
  return SBX_OK;
}

static bool is_whole(const kafka_config *config) {
  return config->ca_file && config->sasl && config->username && config->group && config->offset_reset &&
         config->publish && config->name;
}

sbx_status kafka_config_read(const sbx_host *host, sbx_str text, kafka_config *config, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_status status = json->parse(host, text, &root, error);
  if (status != SBX_OK) return status;
  config->ca_file = text_at(json, root, "/ca_file");
  config->sasl = text_at(json, root, "/sasl");
  config->username = text_at(json, root, "/username");
  config->group = text_at(json, root, "/group");
  config->offset_reset = text_at(json, root, "/offset_reset");
  config->publish = text_at(json, root, "/publish");
  config->name = strdup(host->instance);
  config->is_tls = is_true(json, root, "/tls");
  config->has_password = json->at(root, STR("/password"), &value) == SBX_OK;
  status = is_whole(config) ? bus_map_read(json, root, &config->map) : SBX_E_INTERNAL;
  if (status == SBX_OK) status = read_brokers(json, root, config);
  if (status == SBX_OK) status = read_topics(json, root, config);
  if (status == SBX_OK) status = read_properties(json, root, config, error);
  if (status == SBX_E_INTERNAL) return kafka_refuse(error, status, "there is no memory", "");
  if (status == SBX_OK && !config->brokers[0])
    return kafka_refuse(error, SBX_E_INVALID, "brokers needs at least one address", "");
  return status == SBX_OK ? check(config, error) : status;
}

void kafka_config_free(kafka_config *config) {
  for (int k = 0; k < config->topic_count; k++) free(config->topics[k]);
  for (int k = 0; k < 2 * config->property_count; k++) free(config->properties[k]);
  free(config->topics);
  free(config->properties);
  free(config->brokers);
  free(config->ca_file);
  free(config->sasl);
  free(config->username);
  free(config->group);
  free(config->offset_reset);
  free(config->publish);
  free(config->name);
  bus_map_free(&config->map);
}
