/* A plugin that posts bodies like HelloC, and that tries one thing when it is created: the member "try" of its config.
 * What came of it is a line of the log. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <signalbox/plugin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
struct sbx_instance { const sbx_host *host; };
static char summary[300];

static void text_of(const sbx_json *json, sbx_json_value root, sbx_str pointer, char *out, size_t room) {
  sbx_json_value value;
  sbx_str text;
  *out = 0;
  if (json->at(root, pointer, &value) == SBX_OK && json->string(value, &text) == SBX_OK)
    snprintf(out, room, "%.*s", (int)text.len, text.ptr);
}

static int finish(int file) {
  if (file >= 0) close(file);
  return file >= 0;
}
static int read_file(const char *path, int flags) {
  char bytes[64];
  int file = open(path, flags);
  if (file < 0) return 0;
  ssize_t count = flags == O_RDONLY ? read(file, bytes, sizeof bytes) : 1;
  int saved = errno;
  close(file);
  errno = saved;
  return count > 0;
}
static int dial(const struct sockaddr *address, socklen_t size) {
  int file = socket(address->sa_family, SOCK_STREAM, 0);
  if (file < 0) return 0;
  int status = connect(file, address, size), saved = errno;
  close(file);
  errno = saved;
  return status == 0;
}
/* The target is where a secret is in the gateway's memory. */
static int look(pid_t gateway, const char *target) {
  char bytes[8] = "";
  struct iovec here = {bytes, 7}, there = {(void *)(uintptr_t)strtoull(target, NULL, 10), 7};
  return process_vm_readv(gateway, &here, 1, &there, 1, 0) == 7 && !strcmp(bytes, "hunter2");
}
static int multiply(void) {
  int made = 0, failed = 0;
  for (int k = 0; k < 8; k++) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) made++, waitpid(child, NULL, 0);
    else failed = errno;
  }
  errno = failed;
  return made > 0;
}

static int open_many(int most) {
  int last = 0;
  for (int k = 0; k < most && last >= 0; k++) last = open("/dev/null", O_RDONLY);
  return last >= 0;
}
static void *wait_here(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}
static int start_many(int most) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_attr_t small;
  pthread_t thread;
  int status = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  pthread_mutex_lock(&lock);
  for (int k = 0; k < most && !status; k++) status = pthread_create(&thread, &small, wait_here, &lock);
  pthread_mutex_unlock(&lock);
  errno = status;
  return !status;
}

/* More than a plugin may have, without touching it. */
static int hoard(int kind) { return mmap(NULL, 3ul << 30, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, -1, 0) != MAP_FAILED; }
/* Shared memory by way of a device. */
static int hoard_zero(void) {
  int file = open("/dev/zero", O_RDONLY);
  return file >= 0 && mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED;
}

/* How soon the kernel ends a process if there is no memory. */
static int score(pid_t process) {
  char path[64], text[16] = "";
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", process);
  int file = open(path, O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) < 0) return -2000;
  close(file);
  return atoi(text);
}

/* Returns 1 if it worked, else 0 and errno. */
static int attempt(const char *what, const char *target) {
  pid_t gateway = getppid();
  char path[64];
  struct rlimit limit;
  int pipe_ends[2];
  errno = 0;
  if (!strcmp(what, "environ")) return snprintf(path, sizeof path, "/proc/%d/environ", gateway), read_file(path, O_RDONLY);
  if (!strcmp(what, "memory")) return snprintf(path, sizeof path, "/proc/%d/mem", gateway), read_file(path, O_RDWR);
  if (!strcmp(what, "look")) return look(gateway, target);
  if (!strcmp(what, "trace")) return ptrace(PTRACE_SEIZE, gateway, NULL, NULL) == 0;
  if (!strcmp(what, "read")) return read_file(target, O_RDONLY);
  if (!strcmp(what, "write")) return finish(open(target, O_WRONLY | O_CREAT, 0600));
  if (!strcmp(what, "truncate")) return truncate(target, 1) == 0;
  if (!strcmp(what, "chmod")) return chmod(target, 0777) == 0;
  if (!strcmp(what, "tcp")) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(target)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return dial((struct sockaddr *)&to, sizeof to);
  }
  if (!strcmp(what, "unix") || !strcmp(what, "abstract")) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int skip = *what == 'a';
    snprintf(to.sun_path + skip, sizeof to.sun_path - skip, "%s", target);
    return dial((struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip + strlen(target)));
  }
  if (!strcmp(what, "exec")) return execl("/bin/sh", "sh", "-c", "exit 7", NULL), 0;
  if (!strcmp(what, "fork")) return multiply();
  if (!strcmp(what, "kill")) return kill(gateway, 0) == 0;
  if (!strcmp(what, "limit")) return prlimit(gateway, RLIMIT_CORE, NULL, &limit) == 0 && prlimit(gateway, RLIMIT_CORE, &limit, NULL) == 0;
  if (!strcmp(what, "owner")) return pipe(pipe_ends) == 0 && fcntl(pipe_ends[0], F_SETOWN, gateway) == 0;
  if (!strcmp(what, "files")) return open_many(300);
  if (!strcmp(what, "hoard")) return hoard(MAP_PRIVATE | MAP_ANONYMOUS);
  if (!strcmp(what, "hoard shared")) return hoard(MAP_SHARED | MAP_ANONYMOUS);
  if (!strcmp(what, "hoard zero")) return hoard_zero();
  if (!strcmp(what, "hoard file")) return finish(memfd_create("hoard", MFD_CLOEXEC));
  if (!strcmp(what, "survive")) return score(gateway) >= score(getpid());
  if (!strcmp(what, "threads")) return start_many(1100);
  if (!strcmp(what, "dump")) return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  if (!strcmp(what, "gain")) return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
  if (!strcmp(what, "descriptor")) return write(atoi(target), "x", 1) == 1;
  if (!strcmp(what, "variable")) return getenv(target) != NULL;
  return 0;
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  char what[32], target[400], line[500];
  sbx_json_value root;
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  const sbx_log *log = host->service(host, SBX_SVC_LOG);
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i || json->parse(host, config, &root, error) != SBX_OK) return SBX_E_INTERNAL;
  i->host = host;
  text_of(json, root, STR("/try"), what, sizeof what);
  text_of(json, root, STR("/target"), target, sizeof target);
  if (*what) {
    int worked = attempt(what, target), saved = errno;
    snprintf(line, sizeof line, "%s: %s", what, worked ? "worked" : strerror(saved));
    log->write(host, SBX_LOG_INFO, (sbx_str){line, strlen(line)}, NULL, 0);
  }
  *out = i;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free(i); }

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)i, (void)app, (void)error;
  e->origin = STR("https://every.thing:443");
  return SBX_OK;
}
static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride, sbx_http_sink *sink,
                          sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/hello"),
                          .body = &one->notification->body, .body_segments = 1, .items = &one->id, .item_count = 1};
    sink->request(sink, &r, 1, sizeof r);
  }
  return SBX_OK;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink,
                           sbx_error *error) {
  (void)i, (void)r, (void)n, (void)stride, (void)sink, (void)error;
  return SBX_OK;
}
static const sbx_send_http send_http = {sizeof send_http, 0, endpoint, prepare, classify};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_SEND_HTTP) ? NULL : &send_http; }
static const char *const roles[] = {SBX_ROLE_SEND_HTTP, NULL}, *const needs[] = {SBX_SVC_JSON, SBX_SVC_LOG, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.hostile", "1", summary, roles,
  needs, "{\"type\":\"object\",\"properties\":{\"try\":{\"type\":\"string\"},\"target\":{\"type\":\"string\"}}}", create, role, NULL,
  NULL, destroy};

/* It looks around as soon as it is loaded, also if that is only to describe it. */
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) {
  (void)h, (void)e;
  char path[64];
  int inherited = 0;
  for (int number = 200; number < 300; number++) inherited |= fcntl(number, F_GETFD) >= 0;
  snprintf(path, sizeof path, "/proc/%d/environ", getppid());
  snprintf(summary, sizeof summary, "variable %d, environ %d, descriptor %d, passwd %d", getenv("@VARIABLE@") != NULL,
           read_file(path, O_RDONLY), inherited, read_file("/etc/passwd", O_RDONLY));
  return &plugin;
}
