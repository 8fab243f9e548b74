/* A source for tests: each line of a file is the token of a device that gets a push. What is stored is
 * acknowledged by a line in another file, so that the next run leaves it out.
 *
 * config: file, acks, platform; batch: lines in a batch; refuse_once: the first resume() fails;
 * bad: the second event of a batch has no type. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
#define LINES_MAX 100000

enum state { WAITING, UNDECIDED, STORED };

struct sbx_instance {
  const sbx_host *host;
  char file[512], acks[512];
  int64_t batch;
  int refusals, is_bad, is_running, has_thread, can_parse, is_away;
  pthread_t thread;
  pthread_mutex_t lock;
  char lines[LINES_MAX][24];
  unsigned char states[LINES_MAX];
  size_t count;
};

static void text_of(const sbx_json *json, sbx_json_value root, sbx_str at, char *out, size_t room) {
  sbx_json_value value;
  sbx_str text;
  if (!json->at(root, at, &value) && !json->string(value, &text)) snprintf(out, room, "%.*s", (int)text.len, text.ptr);
}

static int64_t number_of(const sbx_json *json, sbx_json_value root, sbx_str at, int64_t usual) {
  sbx_json_value value;
  int64_t number = usual;
  if (!json->at(root, at, &value)) json->integer(value, &number);
  return number;
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i || json->parse(host, config, &root, error)) return SBX_E_INTERNAL;
  i->host = host;
  pthread_mutex_init(&i->lock, NULL);
  text_of(json, root, STR("/file"), i->file, sizeof i->file);
  text_of(json, root, STR("/acks"), i->acks, sizeof i->acks);
  i->batch = number_of(json, root, STR("/batch"), 3);
  i->refusals = (int)number_of(json, root, STR("/refuse_once"), 0);
  i->is_bad = (int)number_of(json, root, STR("/bad"), 0);
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

/* Tells the host when the file goes and comes back. */
static void tell(sbx_instance *i, int is_away) {
  const sbx_source_host *out = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  if (i->is_away == is_away) return;
  i->is_away = is_away;
  out->condition(i->host, is_away ? SBX_E_UNREACHABLE : SBX_OK, is_away ? STR("the file is gone") : (sbx_str){0});
}

/* What the files say; lines that were emitted keep their state. */
static void read_files(sbx_instance *i) {
  char line[64];
  size_t at = 0;
  FILE *file = fopen(i->file, "re");
  tell(i, !file);
  if (!file) return;
  while (at < LINES_MAX && fgets(line, sizeof line, file) && strchr(line, '\n')) {
    line[strcspn(line, "\n")] = 0;
    if (at >= i->count) {
      snprintf(i->lines[at], sizeof i->lines[at], "%.23s", line);
      i->count = at + 1;
    }
    at++;
  }
  fclose(file);
}

static void read_acks(sbx_instance *i) {
  char line[64];
  FILE *file = fopen(i->acks, "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    size_t at = strtoull(line, NULL, 10);
    if (strchr(line, '\n') && at < LINES_MAX) i->states[at] = STORED;
  }
  fclose(file);
}

/* Parses JSON on this thread, which belongs to the plugin. */
static void parse(void *context) {
  sbx_instance *i = context;
  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_error error = {.struct_size = sizeof error};
  i->can_parse = !json->parse(i->host, STR("{\"a\":\"b\"}"), &root, &error) && !json->at(root, STR("/a"), &value);
}

/* The token of a batch is its first line and its length. */
static void emit(sbx_instance *i, size_t first, size_t n) {
  const sbx_source_host *out = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  sbx_event events[16];
  sbx_recipient people[16];
  sbx_device devices[16];
  for (size_t k = 0; k < n; k++) {
    char *line = i->lines[first + k];
    devices[k] = (sbx_device){.struct_size = sizeof *devices, .platform = STR("ios"), .token = {line, strlen(line)}};
    people[k] = (sbx_recipient){.struct_size = sizeof *people, .device = &devices[k]};
    events[k] = (sbx_event){.struct_size = sizeof *events, .type = STR("line"), .dedupe = {line, strlen(line)},
                            .data = STR("{\"title\":\"a line\"}"), .recipients = &people[k], .recipient_count = 1,
                            .recipient_stride = sizeof *people};
    if ((i->is_bad && k == 1) || !i->can_parse) events[k].type = (sbx_str){0};
    i->states[first + k] = UNDECIDED;
  }
  pthread_mutex_unlock(&i->lock);
  sbx_status status = out->emit(i->host, first << 8 | n, events, n, sizeof *events);
  pthread_mutex_lock(&i->lock);
  if (status == SBX_OK) return;
  for (size_t k = 0; k < n; k++) i->states[first + k] = status == SBX_E_AGAIN || status == SBX_E_STOPPING ? WAITING : STORED;
}

static void *run(void *context) {
  sbx_instance *i = context;
  const sbx_scope *scope = i->host->service(i->host, SBX_SVC_SCOPE);
  scope->enter(i->host, parse, i);
  pthread_mutex_lock(&i->lock);
  while (i->is_running) {
    read_files(i);
    for (size_t at = 0; at < i->count && i->is_running; at++) {
      size_t n = 0;
      while (n < (size_t)i->batch && at + n < i->count && i->states[at + n] == WAITING) n++;
      if (!n) continue;
      emit(i, at, n);
      // What comes back meanwhile is grouped as before, by the next look.
      at += n - 1;
    }
    pthread_mutex_unlock(&i->lock);
    usleep(2000);
    pthread_mutex_lock(&i->lock);
  }
  pthread_mutex_unlock(&i->lock);
  return NULL;
}

static sbx_status resume_(sbx_instance *i, uint32_t batches_max, sbx_error *error) {
  (void)batches_max;
  if (i->refusals-- > 0) {
    strcpy(error->message, "the bus is away");
    return SBX_E_UNREACHABLE;
  }
  read_acks(i);
  i->is_running = 1;
  i->has_thread = pthread_create(&i->thread, NULL, run, i) == 0;
  return i->has_thread ? SBX_OK : SBX_E_INTERNAL;
}

static sbx_status pause_(sbx_instance *i, sbx_error *error) {
  (void)error;
  pthread_mutex_lock(&i->lock);
  i->is_running = 0;
  pthread_mutex_unlock(&i->lock);
  if (i->has_thread) pthread_join(i->thread, NULL);
  i->has_thread = 0;
  return SBX_OK;
}

static void settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride) {
  pthread_mutex_lock(&i->lock);
  FILE *file = fopen(i->acks, "ae");
  for (size_t k = 0; k < n; k++) {
    const sbx_batch_result *one = SBX_AT(sbx_batch_result, results, k, stride);
    size_t first = one->token >> 8, count = one->token & 255;
    for (size_t at = first; at < first + count; at++) {
      i->states[at] = one->status == SBX_OK ? STORED : WAITING;
      if (one->status == SBX_OK && file) fprintf(file, "%zu\n", at);
    }
  }
  if (file) fclose(file);
  pthread_mutex_unlock(&i->lock);
}

static const sbx_source source = {sizeof source, 0, resume_, pause_, settled};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SOURCE) ? NULL : &source; }
static const char *const roles[] = {SBX_ROLE_SOURCE, NULL};
static const char *const needs[] = {SBX_SVC_JSON, SBX_SVC_SCOPE, SBX_SVC_SOURCE_HOST, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "org.example.spool", "1.0.0", "lines of a file", roles, needs,
    "{\"type\":\"object\",\"properties\":{\"file\":{\"type\":\"string\"},\"acks\":{\"type\":\"string\"},"
    "\"batch\":{\"type\":\"integer\"},\"refuse_once\":{\"type\":\"integer\"},\"bad\":{\"type\":\"integer\"}}}",
    create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
