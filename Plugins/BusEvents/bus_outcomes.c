/* bus_outcomes.c - see bus_outcomes.h. */
#include "bus_outcomes.h"

#include <stdlib.h>
#include <string.h>

static void free_copy(sbx_observation *batch, size_t n) {
  for (size_t k = 0; batch && k < n; k++) free((void *)batch[k].json.ptr);
  free(batch);
}

static void *work(void *context) {
  bus_outcomes *outcomes = context;
  const sbx_observe_host *out = outcomes->host->service(outcomes->host, SBX_SVC_OBSERVE_HOST);
  pthread_mutex_lock(&outcomes->lock);
  while (!outcomes->is_stopping) {
    if (!outcomes->batch) {
      pthread_cond_wait(&outcomes->changed, &outcomes->lock);
      continue;
    }
    sbx_observation *batch = outcomes->batch;
    size_t n = outcomes->count;
    outcomes->batch = NULL;
    pthread_mutex_unlock(&outcomes->lock);
    uint64_t last = batch[n - 1].sequence;
    sbx_status status = outcomes->publish(outcomes->instance, batch, n);
    free_copy(batch, n);
    out->done(outcomes->host, last, status, 0);
    pthread_mutex_lock(&outcomes->lock);
  }
  free_copy(outcomes->batch, outcomes->count);
  outcomes->batch = NULL;
  pthread_mutex_unlock(&outcomes->lock);
  return NULL;
}

sbx_status bus_outcomes_start(bus_outcomes *outcomes, const sbx_host *host, sbx_instance *instance,
                              bus_publish publish) {
  outcomes->host = host;
  outcomes->instance = instance;
  outcomes->publish = publish;
  pthread_mutex_init(&outcomes->lock, NULL);
  pthread_cond_init(&outcomes->changed, NULL);
  outcomes->has_thread = pthread_create(&outcomes->thread, NULL, work, outcomes) == 0;
  return outcomes->has_thread ? SBX_OK : SBX_E_INTERNAL;
}

sbx_status bus_outcomes_take(bus_outcomes *outcomes, const sbx_observation *observations, size_t n, size_t stride) {
  sbx_observation *copy = calloc(n, sizeof *copy);
  bool is_whole = copy != NULL;
  for (size_t k = 0; is_whole && k < n; k++) {
    const sbx_observation *one = SBX_AT(sbx_observation, observations, k, stride);
    copy[k] = (sbx_observation){.struct_size = sizeof *copy, .sequence = one->sequence, .json = one->json};
    copy[k].json.ptr = strndup(one->json.ptr, one->json.len);
    is_whole = copy[k].json.ptr != NULL;
  }
  if (!is_whole) {
    free_copy(copy, n);
    return SBX_E_AGAIN;
  }
  pthread_mutex_lock(&outcomes->lock);
  outcomes->batch = copy;
  outcomes->count = n;
  pthread_cond_broadcast(&outcomes->changed);
  pthread_mutex_unlock(&outcomes->lock);
  return SBX_OK;
}

bool bus_outcomes_stopping(bus_outcomes *outcomes) {
  pthread_mutex_lock(&outcomes->lock);
  bool is = outcomes->is_stopping;
  pthread_mutex_unlock(&outcomes->lock);
  return is;
}

void bus_outcomes_stop(bus_outcomes *outcomes) {
  if (!outcomes->host) return;
  pthread_mutex_lock(&outcomes->lock);
  outcomes->is_stopping = true;
  pthread_cond_broadcast(&outcomes->changed);
  pthread_mutex_unlock(&outcomes->lock);
  if (outcomes->has_thread) pthread_join(outcomes->thread, NULL);
  outcomes->has_thread = false;
  pthread_cond_destroy(&outcomes->changed);
  pthread_mutex_destroy(&outcomes->lock);
  outcomes->host = NULL;
}
