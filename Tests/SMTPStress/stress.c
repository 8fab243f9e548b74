/* stress.c - runs the SMTP plugin against two servers that misbehave at random, one with TLS: many instances
 * one after another, each stopped midway; made for the sanitizers. Counts outcomes: exactly one per accepted
 * delivery, soon enough, none after stop(). Prints the Message-ID of each that was delivered.
 *
 * stress SECONDS SEED PORT PORT_WITH_TLS CA_FILE; Tests/PluginTests/SMTPStressTests.swift runs it. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

static const sbx_plugin *plugin;
static const sbx_send *role;
static sbx_instance *instance;
#define DELIVERIES_MAX 1000000u
static atomic_uint outcomes[DELIVERIES_MAX];  /* bit 0-7: how many; above: the kind of the last */
static _Atomic uint64_t taken_at[DELIVERIES_MAX];
static atomic_uint credits, next_id, is_stopped, totals[8];
static atomic_uint_fast64_t longest_ns;

static void fail(const char *what) {
  printf("ERROR: %s\n", what);
  exit(1);
}

static unsigned random_below(unsigned *seed, unsigned below) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % below;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* JSON for the plugin: the document is its text, lines of "/pointer=value",
 * with a # before numbers. */
static sbx_status json_parse(const sbx_host *host, sbx_str text, sbx_json_value *root, sbx_error *error) {
  (void)host, (void)error;
  *root = (sbx_json_value){text.ptr, 0};
  return SBX_OK;
}

static sbx_status json_at(sbx_json_value value, sbx_str pointer, sbx_json_value *out) {
  for (const char *line = value.document; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (!strncmp(line, pointer.ptr, pointer.len) && line[pointer.len] == '=') {
      *out = (sbx_json_value){line + pointer.len + 1, 1};
      return SBX_OK;
    }
  return SBX_E_NOT_FOUND;
}

static uint32_t json_kind(sbx_json_value value) { return value.position ? SBX_JSON_STRING : SBX_JSON_OBJECT; }

static sbx_status json_string(sbx_json_value value, sbx_str *out) {
  *out = (sbx_str){value.document, strcspn(value.document, "\n")};
  return SBX_OK;
}

static sbx_status json_integer(sbx_json_value value, int64_t *out) {
  const char *text = value.document;
  if (*text != '#') return SBX_E_INVALID;
  *out = atoll(text + 1);
  return SBX_OK;
}

static sbx_status secret(const sbx_host *host, sbx_str name, void *buffer, size_t *len) {
  (void)host, (void)name;
  memcpy(buffer, "opensesame", *len = 10);
  return SBX_OK;
}

static sbx_status watch(const sbx_host *host, sbx_str name, void (*fn)(void *), void *context) {
  (void)host, (void)name, (void)fn, (void)context;
  return SBX_OK;
}

static uint64_t unix_ms(const sbx_host *host) {
  (void)host;
  return (uint64_t)time(NULL) * 1000;
}

static void complete(const sbx_host *host, const sbx_outcome *given, size_t n, size_t stride) {
  (void)host;
  for (size_t k = 0; k < n; k++) {
    const sbx_outcome *one = SBX_AT(sbx_outcome, given, k, stride);
    if (atomic_load(&is_stopped)) fail("an outcome after stop()");
    if (one->item >= DELIVERIES_MAX || one->kind < 1 || one->kind > 7 || !one->reason.len) fail("a bad outcome");
    if (atomic_fetch_add(&outcomes[one->item], 1 + (one->kind << 8)) & 255) fail("a second outcome");
    if (one->kind == SBX_OUTCOME_DELIVERED) printf("id <n-%llu@example.com>\n", (unsigned long long)one->item);
    atomic_fetch_add(&totals[one->kind], 1);
    uint64_t took = now_ns() - atomic_load(&taken_at[one->item]);
    if (took > atomic_load(&longest_ns)) atomic_store(&longest_ns, took);
  }
}

static void credit(const sbx_host *host, size_t room) {
  (void)host;
  if (!room) fail("credit for nothing");
  atomic_fetch_add(&credits, 1);
}

static uint32_t log_enabled(const sbx_host *host, uint32_t level) { return (void)host, (void)level, 1; }
static void log_write(const sbx_host *host, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n) {
  (void)host, (void)level, (void)message, (void)fields, (void)n;
}

static const void *service(const sbx_host *host, const char *id) {
  static const sbx_json json = {.struct_size = sizeof json, .parse = json_parse, .at = json_at, .kind = json_kind,
                                .string = json_string, .integer = json_integer};
  static const sbx_secrets secrets = {sizeof secrets, 0, secret, watch};
  static const sbx_clock clock = {.struct_size = sizeof clock, .unix_ms = unix_ms};
  static const sbx_send_host send = {sizeof send, 0, complete, credit};
  static const sbx_log log = {sizeof log, 0, log_enabled, log_write};
  (void)host;
  if (!strcmp(id, SBX_SVC_JSON)) return &json;
  if (!strcmp(id, SBX_SVC_SECRETS)) return &secrets;
  if (!strcmp(id, SBX_SVC_CLOCK)) return &clock;
  if (!strcmp(id, SBX_SVC_SEND_HOST)) return &send;
  return strcmp(id, SBX_SVC_LOG) ? NULL : &log;
}

/* Offers one batch. Returns how many deliveries were accepted. */
static size_t offer(unsigned *seed) {
  static const char *const bodies[] = {"hello", ".\r\n..\n.dot", "Gr\xc3\xbc\xc3\x9f""e aus Wien", "", "\xe6\x97\xa5\xe6\x9c\xac"};
  static const sbx_str tokens[] = {{"a@example.com", 13}, {"b.c@example.org", 15}, {"no address", 10}};
  enum { MOST = 8 };
  sbx_delivery batch[MOST];
  sbx_device devices[3];
  sbx_notification note = {.struct_size = sizeof note, .title = STR("stress")};
  const sbx_kv html = {STR("smtp"), STR("/html=<p>hi</p>\n")};
  char ids[MOST][16];
  const char *body = bodies[random_below(seed, 5)];
  size_t n = random_below(seed, MOST) + 1, taken = 0;
  note.body = (sbx_str){body, strlen(body)};
  if (!random_below(seed, 3)) note.overrides = &html, note.override_count = 1;
  if (!random_below(seed, 20)) note.flags = SBX_N_SILENT;
  unsigned first = atomic_fetch_add(&next_id, (unsigned)n);
  if (first + n >= DELIVERIES_MAX) return 0;
  for (size_t k = 0; k < n; k++) {
    sbx_device *device = &devices[random_below(seed, 3)];
    *device = (sbx_device){.struct_size = sizeof *device, .token = tokens[device - devices]};
    int len = snprintf(ids[k], sizeof ids[k], "n-%u", first + (unsigned)k);
    batch[k] = (sbx_delivery){.struct_size = sizeof *batch, .attempt = 1, .id = first + k, .device = device,
                              .stable_id = {ids[k], (size_t)len}, .notification = &note};
    atomic_store(&taken_at[first + k], now_ns());
  }
  sbx_status status = role->submit(instance, (sbx_str){0}, batch, n, sizeof *batch, &taken, NULL);
  if (status != SBX_OK && status != SBX_E_AGAIN) fail("submit failed");
  if (status == SBX_E_AGAIN && taken) fail("AGAIN after something was taken");
  for (size_t k = taken; k < n; k++) atomic_fetch_add(&outcomes[first + k], 1);
  for (size_t k = 0; k < taken; k++) atomic_fetch_add(&totals[0], 1);
  return taken;
}

typedef struct offering { unsigned seed, rounds; } offering;

static void *keep_offering(void *argument) {
  offering *o = argument;
  for (unsigned k = 0; k < o->rounds; k++) {
    unsigned before = atomic_load(&credits);
    if (offer(&o->seed)) continue;
    for (int ms = 0; ms < 60 && atomic_load(&credits) == before; ms++) poll(NULL, 0, 1);
  }
  return NULL;
}

static void one_life(unsigned *seed, char **ports, const char *ca_file) {
  sbx_host host = {.struct_size = sizeof host, .abi_major = 1, .service = service};
  sbx_error error = {.struct_size = sizeof error};
  char config[512];
  unsigned has_tls = random_below(seed, 2), first = atomic_load(&next_id);
  int len = snprintf(config, sizeof config,
    "/host=%s\n/port=#%s\n/security=%s\n/ca_file=%s\n/username=me\n/password=password\n/from=Me <me@example.com>\n"
    "/connections_max=#%u\n/timeout_ms=#100\n", random_below(seed, 2) ? "127.0.0.1" : "localhost", ports[has_tls],
    has_tls ? "starttls" : "none", has_tls ? ca_file : "", random_below(seed, 4) + 1);
  atomic_store(&is_stopped, 0);
  if (plugin->create(&host, (sbx_str){config, (size_t)len}, &instance, &error) != SBX_OK) fail(error.message);
  if (plugin->start(instance, &error) != SBX_OK) fail(error.message);
  offering offerings[2] = {{*seed, random_below(seed, 40)}, {~*seed, random_below(seed, 40)}};
  pthread_t threads[2];
  for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, keep_offering, &offerings[k]);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  poll(NULL, 0, (int)random_below(seed, 100));
  /* Half of it is for what does not end by itself. */
  uint64_t allowed_ms = random_below(seed, 3) ? 3000 : 1500;
  if (plugin->stop(instance, now_ns() + allowed_ms * 1000000, &error) != SBX_OK) fail(error.message);
  atomic_store(&is_stopped, 1);
  for (unsigned k = first; k < atomic_load(&next_id) && k < DELIVERIES_MAX; k++)
    if (!(atomic_load(&outcomes[k]) & 255)) fail("a delivery without an outcome");
  plugin->destroy(instance);
}

int main(int count, char **words) {
  sbx_error error = {.struct_size = sizeof error};
  if (count < 6) return 2;
  unsigned seed = (unsigned)strtoul(words[2], NULL, 0), lives = 0;
  uint64_t until = now_ns() + strtoull(words[1], NULL, 10) * 1000000000u;
  /* The default action ends the program: the plugin must not raise SIGPIPE. */
  signal(SIGPIPE, SIG_DFL);
  plugin = sbx_plugin_entry_v1(NULL, &error);
  role = plugin->role(SBX_ROLE_SEND);
  for (; now_ns() < until; lives++) one_life(&seed, words + 3, words[5]);
  /* One step may be running when its time is up, libcurl asks once a second, and threads need time to be scheduled. */
  if (longest_ns > SMTP_GIVE_UP_NS + 5000000000u) fail("an outcome came too late");
  printf("%u lives, %u taken: %u delivered, %u retry, %u throttled, %u unregistered, %u auth, %u config, %u rejected; "
         "%u credits\n", lives, totals[0], totals[1], totals[2], totals[3], totals[4], totals[5], totals[6], totals[7],
         credits);
  return totals[1] ? 0 : 1;
}
