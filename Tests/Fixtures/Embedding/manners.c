/* Checks what libsignalbox.so promises to its host program; prints one line per broken promise. */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <signalbox/gateway.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int faults;
#define CHECK(what) do { if (!(what)) { faults++; fprintf(stderr, "line %d: %s\n", __LINE__, #what); } } while (0)
static sbx_str str(const char *text) { return (sbx_str){text, strlen(text)}; }
static void on_pipe(int number) { (void)number; }

static int entries(const char *folder) {
  DIR *stream = opendir(folder);
  int count = 0;
  while (readdir(stream)) count++;
  closedir(stream);
  return count;
}

static const char config[] =
    "version: 1\n"
    "gateway: { listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\", sources: [shop] }\n"
    "plugins:\n  texts: { library: Texts }\n  hello: { library: HelloWire, config: { endpoint: \"https://127.0.0.1:1\" } }\n"
    "routes:\n  - { name: shop, from: shop, build: { with: texts, set: { title: T } }, send: { ios: hello } }\n";

const sbx_plugin *hello_entry(const sbx_host *host, sbx_error *error);

static sbx_gateway *start(const char *data, const char *text, sbx_error *error, sbx_status *status) {
  sbx_gateway_options o = {.struct_size = sizeof o, .config_text = str(text), .data_folder = str(data)};
  sbx_gateway *gateway = NULL;
  CHECK(sbx_gateway_create(&o, &gateway, error) == SBX_OK);
  CHECK(sbx_gateway_add_plugin(gateway, str("HelloWire"), hello_entry, error) == SBX_OK);
  *status = sbx_gateway_start(gateway, error);
  return gateway;
}

static _Atomic int submitted;
static void on_submission(void *context, const sbx_submission *s) {
  (void)context;
  if (s->status == SBX_OK && s->event_count == 1 && s->event_ids[0] != 0) atomic_fetch_add(&submitted, 1);
}

static void on_answer(void *context, const sbx_answer *answer) { (void)context, (void)answer; }

/* A child that the program forks has a gateway without threads: it is told, and waits for nothing. */
static void forked(sbx_gateway *gateway, sbx_str json) {
  pid_t child = fork();
  if (child == 0) {
    sbx_error error = {.struct_size = sizeof error};
    alarm(20);
    if (sbx_gateway_submit_json(gateway, str("shop"), json, NULL, NULL, &error) != SBX_E_STOPPING) _exit(1);
    sbx_gateway_destroy(gateway);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static _Atomic int ended, wrong;
static void on_end(void *context, const sbx_submission *s) {
  (void)context;
  if (s->status != SBX_OK && s->status != SBX_E_STOPPING) atomic_fetch_add(&wrong, 1);
#ifdef SBX_SUBMITTED_FAILED
  for (size_t k = 0; s->status == SBX_OK && k < s->event_count; k++)
    if (SBX_AT(sbx_submitted, s->events, k, s->event_stride)->result == SBX_SUBMITTED_FAILED) atomic_fetch_add(&wrong, 1);
#endif
  atomic_fetch_add(&ended, 1);
}

/* Submissions that are open when the gateway is destroyed are on disk, or the program is told that it stops. */
static void open_submissions(const char *data) {
  sbx_error error = {.struct_size = sizeof error};
  sbx_status status;
  sbx_str json = str("{\"type\":\"t\",\"recipients\":[{\"platform\":\"ios\",\"token\":\"x\"}]}");
  for (int round = 0; round < 8; round++) {
    int begun = 0;
    sbx_gateway *gateway = start(data, config, &error, &status);
    CHECK(status == SBX_OK);
    atomic_store(&ended, 0);
    for (int k = 0; k < 500; k++) begun += sbx_gateway_submit_json(gateway, str("shop"), json, on_end, NULL, &error) == SBX_OK;
    sbx_gateway_destroy(gateway);
    CHECK(atomic_load(&ended) == begun);
    CHECK(atomic_load(&wrong) == 0);
  }
}

/* Bytes that the program holds, in all arenas. */
static size_t held(void) {
  struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

enum { WARM = 4, ROUNDS = 16 };

/* The bytes that each round has left behind. Threads that were told to end may need a moment to give back theirs. */
static size_t left_by_each(size_t before) {
  time_t end = time(NULL) + 60;
  size_t after, each;
  do {
    sched_yield();
    after = held(), each = after < before ? 0 : (after - before) / ROUNDS;
  } while (each > 16 << 10 && time(NULL) < end);
  return each;
}

/* Gateways that ended and instances that were replaced leave next to nothing behind. */
static void memory(const char *data) {
  sbx_error error = {.struct_size = sizeof error};
  sbx_status status;
  size_t before = 0;
  for (int round = 0; round < WARM + ROUNDS; round++) {
    if (round == WARM) before = held();
    sbx_gateway *gateway = start(data, config, &error, &status);
    CHECK(status == SBX_OK);
    sbx_gateway_destroy(gateway);
  }
  size_t each = left_by_each(before);
  if (each > 16 << 10) faults++, fprintf(stderr, "a gateway that ended leaves %zu bytes\n", each);

  sbx_gateway *gateway = start(data, config, &error, &status);
  CHECK(status == SBX_OK);
  char text[2][sizeof config];
  for (int i = 0; i < 2; i++) {
    strcpy(text[i], config);
    strstr(text[i], "127.0.0.1:1\"")[10] = (char)('1' + i);
  }
  for (int round = 0; round < WARM + ROUNDS; round++) {
    if (round == WARM) before = held();
    CHECK(sbx_gateway_reload(gateway, str(text[round % 2 == 0]), &error) == SBX_OK);
  }
  each = left_by_each(before);
  if (each > 16 << 10) faults++, fprintf(stderr, "a reload that replaces an instance leaves %zu bytes\n", each);
  sbx_gateway_destroy(gateway);
}

int main(int argc, char **argv) {
  (void)argc;
  char one[512], two[512];
  snprintf(one, sizeof one, "%s/one", argv[1]);
  snprintf(two, sizeof two, "%s/two", argv[1]);
  sbx_error error = {.struct_size = sizeof error};
  sbx_status status;
  struct sigaction before[32], after;
  signal(SIGPIPE, on_pipe);
  signal(SIGTERM, on_pipe);
  for (int n = 1; n < 32; n++) sigaction(n, NULL, &before[n]);
#ifndef SBX_NEXT  /* compiled against headers that are newer than any library */
  CHECK(sbx_gateway_version() >= (SBX_ABI_MAJOR << 16 | SBX_ABI_MINOR));
#endif

  /* Errors are reported, and nothing runs. */
  sbx_gateway *gateway = NULL;
  sbx_gateway_options none = {.struct_size = sizeof none};
  CHECK(sbx_gateway_create(&none, &gateway, &error) == SBX_E_INVALID && strstr(error.message, "config_file"));
  none.struct_size = 0;
  CHECK(sbx_gateway_create(&none, &gateway, &error) == SBX_E_INVALID && strstr(error.message, "struct_size of sbx_gateway_options to 0"));
  gateway = start(one, "version: 2\n", &error, &status);
  CHECK(status == SBX_E_INVALID && strstr(error.message, "gateway.yaml:1:"));
  CHECK(sbx_gateway_listen_port(gateway) == 0);
  CHECK(sbx_gateway_submit_json(gateway, str("shop"), str("[]"), NULL, NULL, &error) == SBX_E_STOPPING);
  CHECK(sbx_gateway_metrics(gateway, NULL, NULL) == SBX_E_STOPPING);
  sbx_gateway_destroy(gateway);
  sbx_gateway_destroy(NULL);

  int fds = 0, threads = 0;
  for (int round = 0; round < 8; round++) {
    /* Two gateways in one process, each with its own folder. */
    sbx_gateway *a = start(one, config, &error, &status);
    if (status) fprintf(stderr, "start: %s\n", error.message);
    CHECK(status == SBX_OK);
    sbx_gateway *b = start(two, config, &error, &status);
    CHECK(status == SBX_OK);
    CHECK(sbx_gateway_start(a, &error) == SBX_E_INVALID && strstr(error.message, "has been started"));
    CHECK(sbx_gateway_add_plugin(a, str("X"), hello_entry, &error) == SBX_E_INVALID);
    CHECK(sbx_gateway_listen_port(a) != 0 && sbx_gateway_listen_port(a) != sbx_gateway_listen_port(b));
    CHECK(sbx_gateway_admin_port(a) != 0);
    /* A third one must not use the first one's folder. */
    sbx_gateway *c = start(one, config, &error, &status);
    CHECK(status == SBX_E_INVALID && strstr(error.message, "data"));
    sbx_gateway_destroy(c);

    sbx_str json = str("{\"type\":\"t\",\"recipients\":[{\"platform\":\"ios\",\"token\":\"x\"}]}");
    atomic_store(&submitted, 0);
    for (int i = 0; i < 10; i++) CHECK(sbx_gateway_submit_json(a, str("shop"), json, on_submission, NULL, &error) == SBX_OK);
    while (atomic_load(&submitted) < 10) sched_yield();
    CHECK(sbx_gateway_waiting(a) == 10u * (unsigned)(round + 1));
    CHECK(sbx_gateway_waiting(b) == 0);
    CHECK(sbx_gateway_submit_json(a, str("stranger"), json, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "gateway.sources"));
    CHECK(sbx_gateway_submit_json(a, str("shop"), str("{\"typ\":\"t\"}"), NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "did you mean \"type\""));
    CHECK(sbx_gateway_submit_json(a, str("shop"), str("{"), NULL, NULL, &error) == SBX_E_INVALID);
    /* Sizes and strides that hold no struct are refused in words, and nothing behind them is read. */
    sbx_event event = {.type = str("t"), .data = str("no JSON")};
    CHECK(sbx_gateway_submit(a, str("shop"), &event, 1, sizeof event, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "struct_size of sbx_event to 0"));
    event.struct_size = sizeof event;
    CHECK(sbx_gateway_submit(a, str("shop"), &event, 1, 8, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "stride of 8 for sbx_event"));
    sbx_device device = {.struct_size = sizeof device, .platform = str("ios"), .token = str("x")};
    sbx_recipient to[2] = {{.struct_size = sizeof to[0], .device = &device}, {.struct_size = sizeof to[0], .device = &device}};
    event.data = str("{}"), event.recipients = to, event.recipient_count = 2, event.recipient_stride = 8;
    CHECK(sbx_gateway_submit(a, str("shop"), &event, 1, sizeof event, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "stride of 8 for sbx_recipient"));
    event.recipient_stride = sizeof to[0], device.struct_size = 0;
    CHECK(sbx_gateway_submit(a, str("shop"), &event, 1, sizeof event, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "struct_size of sbx_device to 0"));
    sbx_request request = {.method = str("GET"), .path = str("/")};
    CHECK(sbx_gateway_handle(a, &request, on_answer, NULL, &error) == SBX_E_INVALID && strstr(error.message, "struct_size of sbx_request to 0"));
    forked(a, json);
    event.recipient_count = 0, event.data = str("no JSON");
    CHECK(sbx_gateway_submit(a, str("shop"), &event, 1, sizeof event, NULL, NULL, &error) == SBX_E_INVALID && strstr(error.message, "not a JSON object"));
    CHECK(sbx_gateway_reload(a, str("version: 3\n"), &error) == SBX_E_INVALID);
    CHECK(sbx_gateway_reload(a, str(config), &error) == SBX_OK);
    uint64_t left = 0;
    CHECK(sbx_gateway_drain(a, 10, &left) == SBX_OK && left == 10u * (unsigned)(round + 1));
    CHECK(sbx_gateway_submit_json(a, str("shop"), json, NULL, NULL, &error) == SBX_E_STOPPING);
    sbx_gateway_destroy(a);
    sbx_gateway_destroy(b);
    /* By now everything is open that a process's first gateways open once. */
    if (round == 1) fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    if (round > 1) CHECK(entries("/proc/self/fd") <= fds);
  }
  /* Threads that were told to end may need a moment, and libdispatch keeps a thread that rests for seconds. */
  for (time_t end = time(NULL) + 60; entries("/proc/self/task") > threads && time(NULL) < end;) usleep(10000);
  CHECK(entries("/proc/self/task") <= threads);
  for (int n = 1; n < 32; n++) {
    if (n == SIGKILL || n == SIGSTOP) continue;
    sigaction(n, NULL, &after);
    CHECK(after.sa_handler == before[n].sa_handler);
  }
  char three[512], four[512];
  snprintf(four, sizeof four, "%s/four", argv[1]);
  open_submissions(four);
  snprintf(three, sizeof three, "%s/three", argv[1]);
  memory(three);
  return faults != 0;
}
