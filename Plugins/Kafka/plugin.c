/* plugin.c - Kafka: the library's description, and the life cycle of an instance. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>

static void destroy(sbx_instance *i) {
  pthread_cond_destroy(&i->changed);
  pthread_mutex_destroy(&i->lock);
  kafka_config_free(&i->config);
  free(i);
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  i->host = host;
  i->log = host->service(host, SBX_SVC_LOG);
  i->json = host->service(host, SBX_SVC_JSON);
  i->scope = host->service(host, SBX_SVC_SCOPE);
  i->metrics = host->service(host, SBX_SVC_METRICS);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&i->lock, NULL);
  pthread_cond_init(&i->changed, &clock);
  pthread_condattr_destroy(&clock);
  sbx_status status = kafka_config_read(host, config, &i->config, error);
  if (status == SBX_OK) *out = i;
  else destroy(i);
  return status;
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  if (i->metrics) {
    i->connected_gauge = i->metrics->gauge(i->host, STR("connected"), NULL, 0);
    i->partitions_gauge = i->metrics->gauge(i->host, STR("partitions"), NULL, 0);
    i->refused_counter = i->metrics->counter(i->host, STR("messages_refused_total"), NULL, 0);
  }
  return kafka_start_publisher(i, error);
}

static sbx_status stop(sbx_instance *i, uint64_t deadline_ns, sbx_error *error) {
  (void)deadline_ns, (void)error;
  kafka_stop_publisher(i);
  return SBX_OK;
}

static const void *role(const char *id) {
  if (!strcmp(id, SBX_ROLE_SOURCE)) return &kafka_source_role;
  if (!strcmp(id, SBX_ROLE_OBSERVE)) return &kafka_observe_role;
  return NULL;
}

static const char *const roles[] = {SBX_ROLE_SOURCE, SBX_ROLE_OBSERVE, NULL};
static const char *const needs[] = {SBX_SVC_JSON, SBX_SVC_SCOPE, SBX_SVC_SECRETS, SBX_SVC_SOURCE_HOST,
                                    SBX_SVC_OBSERVE_HOST, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "io.signalbox.kafka", "1.0.0",
    "events from topics of Kafka, and outcomes into one", roles, needs, kafka_config_schema, create, role, start, stop,
    destroy};

SBX_EXPORT const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) {
  return (void)host, (void)error, &plugin;
}
