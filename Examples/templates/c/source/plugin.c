/* An event each `every_ms` for one user: a schedule. What could not be stored is emitted again, and the
 * dedupe key keeps it from being pushed twice. A bus would acknowledge in settled() instead. */
#include <signalbox/kit.h>
#include <pthread.h>

struct sbx_instance {
  const sbx_host *host;
  char user[256];
  int64_t every_ms;
  pthread_mutex_t lock;
  uint64_t timer;      /* 0: none, and not running */
  uint64_t again[64];  /* the times of events that are still to be stored */
  size_t missing;
};

static void tick(void *context);

static const sbx_timer *timers(sbx_instance *i) { return i->host->service(i->host, SBX_SVC_TIMER); }

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  sbx_json_value root, value;
  sbx_str user;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  *i = (sbx_instance){.host = host, .every_ms = 60000, .lock = PTHREAD_MUTEX_INITIALIZER};
  if (json->parse(host, config, &root, error) || json->at(root, SBX_STR("/user"), &value) || json->string(value, &user) ||
      user.len >= sizeof i->user) {
    free(i);
    return error->message[0] ? SBX_E_INVALID : sbx_fail(error, SBX_E_INVALID, "\"user\" is missing, or no text of up to 255 bytes");
  }
  memcpy(i->user, user.ptr, user.len);
  if (!json->at(root, SBX_STR("/every_ms"), &value)) json->integer(value, &i->every_ms);
  *out = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

static void keep(sbx_instance *i, uint64_t time) {
  if (i->missing < sizeof i->again / sizeof *i->again) i->again[i->missing++] = time;
}

static void emit(sbx_instance *i, uint64_t time) {
  const sbx_source_host *out = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
  char key[32];
  int len = snprintf(key, sizeof key, "tick/%llu", (unsigned long long)time);
  sbx_device device = {.struct_size = sizeof device, .user = {i->user, strlen(i->user)}};
  sbx_recipient to = {.struct_size = sizeof to, .device = &device};
  sbx_event event = {.struct_size = sizeof event, .type = SBX_STR("tick"), .dedupe = {key, (size_t)len},
                     .data = SBX_STR("{\"title\":\"It is time\"}"), .time_unix_ms = time,
                     .recipients = &to, .recipient_count = 1, .recipient_stride = sizeof to};
  /* Too many are undecided: with the next one. */
  if (out->emit(i->host, time, &event, 1, sizeof event) != SBX_OK) keep(i, time);
}

static void tick(void *context) {
  sbx_instance *i = context;
  const sbx_clock *clock = i->host->service(i->host, SBX_SVC_CLOCK);
  pthread_mutex_lock(&i->lock);
  if (i->timer) {
    size_t n = i->missing;
    uint64_t again[64];
    memcpy(again, i->again, sizeof again);
    i->missing = 0;
    for (size_t k = 0; k < n; k++) emit(i, again[k]);
    emit(i, clock->unix_ms(i->host));
    i->timer = timers(i)->after(i->host, (uint64_t)i->every_ms, tick, i);
  }
  pthread_mutex_unlock(&i->lock);
}

static sbx_status resume_(sbx_instance *i, uint32_t batches_max, sbx_error *error) {
  (void)batches_max, (void)error;
  pthread_mutex_lock(&i->lock);
  i->timer = timers(i)->after(i->host, (uint64_t)i->every_ms, tick, i);
  pthread_mutex_unlock(&i->lock);
  return SBX_OK;
}

static sbx_status pause_(sbx_instance *i, sbx_error *error) {
  (void)error;
  pthread_mutex_lock(&i->lock);
  uint64_t timer = i->timer;
  i->timer = 0;
  pthread_mutex_unlock(&i->lock);
  if (timer) timers(i)->cancel(i->host, timer);
  return SBX_OK;
}

static void settled(sbx_instance *i, const sbx_batch_result *results, size_t n, size_t stride) {
  pthread_mutex_lock(&i->lock);
  for (size_t k = 0; k < n; k++) {
    const sbx_batch_result *one = SBX_AT(sbx_batch_result, results, k, stride);
    if (one->status != SBX_OK) keep(i, one->token);
  }
  pthread_mutex_unlock(&i->lock);
}

static const sbx_source source = {sizeof source, 0, resume_, pause_, settled};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SOURCE) ? NULL : &source; }
static const char *const roles[] = {SBX_ROLE_SOURCE, NULL};
static const char *const needs[] = {SBX_SVC_JSON, SBX_SVC_CLOCK, SBX_SVC_TIMER, SBX_SVC_SOURCE_HOST, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "org.example.@ID@", "0.1.0", "a new plugin", roles, needs,
    "{\"type\":\"object\",\"required\":[\"user\"],\"properties\":{\"user\":{\"type\":\"string\"},"
    "\"every_ms\":{\"type\":\"integer\",\"minimum\":10}}}", create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
