/* batches.c - what was read and is not committed yet, in the order of its offsets.
 *
 * The host decides batches in any order. An offset says that everything before it is safe, so it is stored when all
 * batches before its own are decided, too. The library commits stored offsets each second and when it leaves. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a batch waits that the host had no room for. */
#define AGAIN_MS 50

static void free_batch(kafka_batch *batch) {
  for (int k = 0; k < batch->count; k++) free(batch->messages[k].body);
  free(batch);
}

kafka_batch *kafka_batch_make(sbx_instance *i, int count) {
  kafka_batch *batch = calloc(1, sizeof *batch + (size_t)count * sizeof *batch->messages);
  if (batch) batch->instance = i;
  return batch;
}

void kafka_batch_append(sbx_instance *i, kafka_batch *batch) {
  pthread_mutex_lock(&i->lock);
  if (i->last) i->last->next = batch;
  else i->first = batch;
  i->last = batch;
  pthread_mutex_unlock(&i->lock);
}

/* MARK: Under the lock */

/* The offsets after a batch. */
static void store(sbx_instance *i, const kafka_batch *batch) {
  rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(4);
  for (int k = 0; k < batch->count; k++) {
    const kafka_message *one = &batch->messages[k];
    rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_find(offsets, one->topic, one->partition);
    if (!at) at = rd_kafka_topic_partition_list_add(offsets, one->topic, one->partition);
    at->offset = one->offset + 1;
  }
  // librdkafka stores no offset of a partition that was revoked: its new consumer reads the messages again.
  if (i->consumer) rd_kafka_offsets_store(i->consumer, offsets);
  rd_kafka_topic_partition_list_destroy(offsets);
}

/* Frees what is decided, up to the first batch that is not. */
static void advance(sbx_instance *i) {
  while (i->first && i->first->phase == KAFKA_DONE) {
    kafka_batch *batch = i->first;
    i->first = batch->next;
    if (!i->first) i->last = NULL;
    store(i, batch);
    free_batch(batch);
  }
}

static kafka_batch *find_waiting(sbx_instance *i) {
  kafka_batch *batch = i->first;
  while (batch && batch->phase != KAFKA_WAITING) batch = batch->next;
  return batch;
}

/* Makes two of one; false: there is no memory. */
static bool split(sbx_instance *i, kafka_batch *batch) {
  int left = batch->count / 2, right = batch->count - left;
  kafka_batch *second = kafka_batch_make(i, right);
  if (!second) return false;
  memcpy(second->messages, batch->messages + left, (size_t)right * sizeof *second->messages);
  second->count = right;
  second->next = batch->next;
  batch->count = left;
  batch->next = second;
  if (i->last == batch) i->last = second;
  return true;
}

/* Waits for a change, until a time; false: it has passed. */
static bool wait_until(sbx_instance *i, const struct timespec *until) {
  return pthread_cond_timedwait(&i->changed, &i->lock, until) == 0;
}

static struct timespec after(long ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += ms % 1000 * 1000000L;
  until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  return until;
}

/* MARK: The fetcher's side */

/* What follows from a refused emit(). */
static void put_back(sbx_instance *i, kafka_batch *batch, sbx_status status) {
  const char *why = status == SBX_E_TOO_LARGE ? "it is too large for an event" : "the gateway refuses the event";
  if ((status == SBX_E_TOO_LARGE || status == SBX_E_INVALID) && batch->count == 1)
    kafka_refuse_message(i, &batch->messages[0], why);
  pthread_mutex_lock(&i->lock);
  i->emitted--;
  batch->phase = KAFKA_WAITING;
  batch->due_ms = kafka_now_ms() + AGAIN_MS;
  // Nothing of it is left; beside others a message that is no event says nothing of them.
  if (status == SBX_E_NOT_FOUND || (batch->count == 1 && !batch->messages[0].body)) batch->phase = KAFKA_DONE;
  else if ((status == SBX_E_TOO_LARGE || status == SBX_E_INVALID) && split(i, batch)) batch->due_ms = 0;
  advance(i);
  pthread_mutex_unlock(&i->lock);
}

void kafka_batches_emit(sbx_instance *i) {
  for (;;) {
    pthread_mutex_lock(&i->lock);
    kafka_batch *batch = find_waiting(i);
    bool is_due = i->is_fetching && batch && batch->due_ms <= kafka_now_ms() && i->emitted < i->emitted_max;
    if (is_due) {
      batch->phase = KAFKA_EMITTED;
      i->emitted++;
    }
    pthread_mutex_unlock(&i->lock);
    if (!is_due) return;
    sbx_status status = kafka_emit(i, batch);
    if (status != SBX_OK) put_back(i, batch, status);
  }
}

bool kafka_batches_room(sbx_instance *i, long wait_ms) {
  struct timespec until = after(wait_ms);
  pthread_mutex_lock(&i->lock);
  bool is_room = false;
  while (i->is_fetching && !(is_room = !find_waiting(i) && i->emitted < i->emitted_max) && wait_until(i, &until)) {
  }
  pthread_mutex_unlock(&i->lock);
  return is_room;
}

void kafka_batches_settle(sbx_instance *i, long wait_ms) {
  struct timespec until = after(wait_ms);
  pthread_mutex_lock(&i->lock);
  while (i->emitted && wait_until(i, &until)) {
  }
  pthread_mutex_unlock(&i->lock);
}

void kafka_batches_forget(sbx_instance *i) {
  i->assignments++;
  pthread_mutex_lock(&i->lock);
  advance(i);
  while (i->first) {
    kafka_batch *batch = i->first;
    i->first = batch->next;
    if (batch->phase == KAFKA_EMITTED) batch->is_orphan = true;
    else free_batch(batch);
  }
  i->last = NULL;
  pthread_mutex_unlock(&i->lock);
}

/* MARK: The host's side */

void kafka_settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride) {
  pthread_mutex_lock(&i->lock);
  for (size_t k = 0; k < n; k++) {
    const sbx_batch_result *one = SBX_AT(sbx_batch_result, results, k, stride);
    kafka_batch *batch = (kafka_batch *)(uintptr_t)one->token;
    i->emitted--;
    if (batch->is_orphan) {
      free_batch(batch);
      continue;
    }
    batch->phase = one->status == SBX_OK ? KAFKA_DONE : KAFKA_WAITING;
    batch->due_ms = kafka_now_ms() + one->retry_after_ms;
  }
  advance(i);
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}
