/* What a program learns of its gateway and changes in it: checks, submissions, admin requests, reloads, the log's level.
 * Prints one line per broken promise. */
#include <pthread.h>
#include <signalbox/gateway.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int faults;
#define CHECK(what) do { if (!(what)) { faults++; fprintf(stderr, "line %d: %s\n", __LINE__, #what); } } while (0)
static sbx_str str(const char *text) { return (sbx_str){text, strlen(text)}; }
static int is(sbx_str text, const char *word) { return text.len == strlen(word) && !memcmp(text.ptr, word, text.len); }

/* A sender that delivers, unless the token is "bad". */
struct sbx_instance { const sbx_host *host; const sbx_send_host *out; };
static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **instance, sbx_error *error) {
  (void)config, (void)error;
  sbx_instance *i = calloc(1, sizeof *i);
  *i = (sbx_instance){host, host->service(host, SBX_SVC_SEND_HOST)};
  *instance = i;
  return SBX_OK;
}
static void destroy(sbx_instance *i) { free(i); }
static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *list, size_t n, size_t stride, size_t *taken,
                         sbx_error *error) {
  (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *d = SBX_AT(sbx_delivery, list, k, stride);
    int is_bad = is(d->device->token, "bad");
    sbx_outcome o = {.struct_size = sizeof o, .item = d->id, .kind = is_bad ? SBX_OUTCOME_REJECTED : SBX_OUTCOME_DELIVERED,
                     .reason = is_bad ? str("refused") : str("ok")};
    i->out->complete(i->host, &o, 1, sizeof o);
  }
  *taken = n;
  return SBX_OK;
}
static const sbx_send sender = {sizeof sender, 0, submit};
static const void *role(const char *id) { return (void)id, &sender; }
static const char *const roles[] = {SBX_ROLE_SEND, NULL}, *const needs[] = {SBX_SVC_SEND_HOST, NULL};
static const sbx_plugin post = {sizeof post, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.post", "1.0.0", "delivers",
                                roles, needs, NULL, create, role, NULL, NULL, destroy};
static const sbx_plugin *entry(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &post; }

static const char config[] =
    "version: 1\n"
    "gateway: { listen: false, admin: false, sources: [shop, lost] }\n"
    "plugins:\n  texts: { library: Texts }\n  post: { library: Post }\n"
    "routes:\n  - { name: shop, from: shop, build: { with: texts }, send: { ios: post } }\n";
/* Two faults and a warning, each with its place. */
static const char faulty[] =
    "version: 1\n"
    "gateway: { listen: false, admin: false, sources: [shop], drane: 3s }\n"
    "plugins:\n  texts: { library: Texts }\n  post: { library: Post }\n  idle: { library: Texts }\n  ghost: { library: Ghost }\n"
    "routes:\n  - { name: shop, from: shop, build: { with: texts }, send: { ios: post } }\n";
static const char changed[] =
    "version: 1\n"
    "gateway: { listen: false, admin: false, sources: [shop, lost], name: other, drain: 3s }\n"
    "plugins:\n  texts: { library: Texts }\n  post: { library: Post }\n"
    "routes:\n  - { name: more, from: shop, build: { with: texts }, send: { ios: post } }\n";

/* ---- what callbacks leave behind ---- */
static atomic_uint below_warn, at_all, findings_faults, findings_warnings, findings_calls;
static void on_log(void *context, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n) {
  (void)context, (void)message;
  atomic_fetch_add(&at_all, 1);
  /* Records of changes come whatever the level is. */
  for (size_t i = 0; i < n; i++)
    if (is(fields[i].key, "logger")) return;
  if (level < SBX_LOG_WARN) atomic_fetch_add(&below_warn, 1);
}
static void on_findings(void *context, const sbx_finding *list, size_t n, size_t stride) {
  int *seen = context;  /* the faults of line 2 and the warnings of line 6 */
  findings_calls++;
  findings_faults = findings_warnings = 0;
  for (size_t i = 0; i < n; i++) {
    const sbx_finding *f = SBX_AT(sbx_finding, list, i, stride);
    CHECK(SBX_HAS(f, message) && f->code.len > 0 && f->message.len > 0 && f->line > 0 && f->column > 0);
    CHECK(f->file.len >= 12 && !memcmp(f->file.ptr + f->file.len - 12, "gateway.yaml", 12));
    if (f->severity == SBX_FINDING_FAULT) {
      findings_faults++;
      CHECK(findings_warnings == 0);
      if (seen && f->line == 2 && is(f->code, "unknown-key")) seen[0]++;
    } else {
      findings_warnings++;
      if (seen && f->line == 6) seen[1]++;
    }
  }
}

static struct { sbx_submitted one[8]; uint64_t ids[8]; size_t count; int calls; } last;
static void on_submission(void *context, const sbx_submission *s) {
  CHECK(context == &last && s->status == SBX_OK && SBX_HAS(s, event_stride));
  last.calls++;
  last.count = s->event_count;
  for (size_t i = 0; i < s->event_count && i < 8; i++) {
    /* The library's struct may be shorter or longer than ours. */
    const sbx_submitted *one = SBX_AT(sbx_submitted, s->events, i, s->event_stride);
    CHECK(SBX_HAS(one, deliveries));
    memcpy(&last.one[i], one, one->struct_size < sizeof *one ? one->struct_size : sizeof *one);
    last.ids[i] = s->event_ids[i];
  }
}

static char text[1 << 16];
static uint32_t http_status;
static void keep(sbx_str given) {
  size_t n = given.len < sizeof text - 1 ? given.len : sizeof text - 1;
  memcpy(text, given.ptr, n);
  text[n] = 0;
}
static void on_answer(void *context, const sbx_answer *a) { (void)context, http_status = a->http_status, keep(a->body); }
static void on_report(void *context, sbx_str json) { (*(int *)context)++, keep(json); }

static sbx_error error = {.struct_size = sizeof error};
static uint32_t ask(sbx_gateway *gateway, const char *method, const char *path, const char *query, const char *body) {
  sbx_request r = {.struct_size = sizeof r, .method = str(method), .path = str(path), .query = str(query), .body = str(body)};
  http_status = 0;
  text[0] = 0;
  CHECK(sbx_gateway_admin(gateway, &r, on_answer, NULL, &error) == SBX_OK);
  return http_status;
}
static int has(const char *words) { return strstr(text, words) != NULL; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static unsigned delivered, failed;
static void on_results(void *context, const sbx_delivery_result *list, size_t n, size_t stride) {
  (void)context;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < n; i++) {
    uint32_t result = SBX_AT(sbx_delivery_result, list, i, stride)->result;
    delivered += result == SBX_RESULT_DELIVERED;
    failed += result == SBX_RESULT_FAILED;
  }
  pthread_cond_broadcast(&moved);
  pthread_mutex_unlock(&lock);
}
static void wait_for(unsigned good, unsigned bad) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 60;
  pthread_mutex_lock(&lock);
  while ((delivered < good || failed < bad) && pthread_cond_timedwait(&moved, &lock, &until) == 0) {}
  CHECK(delivered == good && failed == bad);
  pthread_mutex_unlock(&lock);
}

static sbx_gateway *make(const char *data, const char *yaml, uint32_t level, uint32_t size) {
  sbx_gateway_options o = {.struct_size = size, .config_text = str(yaml), .data_folder = str(data), .log = on_log,
                           .results = on_results, .log_level = level};
  sbx_gateway *gateway = NULL;
  CHECK(sbx_gateway_create(&o, &gateway, &error) == SBX_OK);
  CHECK(sbx_gateway_add_plugin(gateway, str("Post"), entry, &error) == SBX_OK);
  return gateway;
}

/* The number behind a member of the last answer. */
static unsigned long long number(const char *member) {
  const char *at = strstr(text, member);
  return at ? strtoull(at + strlen(member), NULL, 10) : 0;
}

static void levels(const char *data) {
  const char *quiet = "version: 1\ngateway: { listen: false, admin: false, sources: [shop], log: { level: error } }\n"
                      "plugins:\n  texts: { library: Texts }\n  post: { library: Post }\n"
                      "routes:\n  - { name: shop, from: shop, build: { with: texts }, send: { ios: post } }\n";
  /* The configuration's level, if the options have none, or are those of a host of 1.0. */
  uint32_t sizes[] = {sizeof(sbx_gateway_options), offsetof(sbx_gateway_options, log_level)};
  for (int i = 0; i < 2; i++) {
    at_all = 0;
    sbx_gateway *gateway = make(data, quiet, i == 0 ? 0 : SBX_LOG_TRACE + 1, sizes[i]);
    CHECK(sbx_gateway_start(gateway, &error) == SBX_OK);
    CHECK(at_all == 0);
    sbx_gateway_destroy(gateway);
  }
  /* The options' level goes before it. */
  at_all = 0;
  sbx_gateway *gateway = make(data, quiet, SBX_LOG_INFO + 1, sizes[0]);
  CHECK(sbx_gateway_start(gateway, &error) == SBX_OK);
  CHECK(at_all > 0);
  sbx_gateway_destroy(gateway);
}

int main(int argc, char **argv) {
  (void)argc;
  char data[512], other[512];
  snprintf(data, sizeof data, "%s/one", argv[1]);
  snprintf(other, sizeof other, "%s/two", argv[1]);
  sbx_gateway *gateway = make(data, config, SBX_LOG_WARN + 1, sizeof(sbx_gateway_options));

  /* Checks, before a start: every fault and warning, with its place. */
  CHECK(sbx_gateway_check(gateway, str(""), on_findings, NULL, &error) == SBX_OK);
  CHECK(findings_calls == 1 && findings_faults == 0);
  int seen[2] = {0, 0};
  CHECK(sbx_gateway_check(gateway, str(faulty), on_findings, seen, &error) == SBX_OK);
  CHECK(findings_faults >= 2 && findings_warnings >= 1 && seen[0] == 1 && seen[1] >= 1);
  CHECK(sbx_gateway_check(gateway, str("\t"), on_findings, NULL, &error) == SBX_OK && findings_faults >= 1);
  CHECK(sbx_gateway_check(gateway, str(""), NULL, NULL, &error) == SBX_E_INVALID);
  CHECK(sbx_gateway_check(NULL, str(""), on_findings, NULL, &error) == SBX_E_INVALID);

  /* What needs a gateway that runs says so. */
  sbx_request root = {.struct_size = sizeof root, .method = str("GET"), .path = str("/readyz")};
  int reports = 0;
  CHECK(sbx_gateway_admin(gateway, &root, on_answer, NULL, &error) == SBX_E_STOPPING);
  CHECK(sbx_gateway_reload_report(gateway, str(""), 0, on_report, &reports, &error) == SBX_E_STOPPING);
  CHECK(sbx_gateway_submit_json_wait(gateway, str("shop"), str("[]"), on_submission, &last, &error) == SBX_E_STOPPING);
  CHECK(reports == 0 && last.calls == 0);
  below_warn = 0;
  CHECK(sbx_gateway_start(gateway, &error) == SBX_OK);

  /* Submissions say what became of each event. */
  sbx_str three = str(
      "[{\"type\":\"t\",\"dedupe\":\"k1\",\"data\":{\"title\":\"T\"},\"recipients\":["
      "{\"platform\":\"ios\",\"token\":\"a\"},{\"platform\":\"ios\",\"token\":\"b\"}]},"
      "{\"type\":\"t\",\"data\":{\"title\":\"T\"},\"recipients\":[{\"user\":\"nobody\"}]},"
      "{\"type\":\"t\",\"data\":{\"title\":\"T\"},\"recipients\":[{\"platform\":\"ios\",\"token\":\"bad\"}]}]");
  CHECK(sbx_gateway_submit_json_wait(gateway, str("shop"), three, on_submission, &last, &error) == SBX_OK);
  CHECK(last.calls == 1 && last.count == 3);
  CHECK(last.one[0].result == SBX_SUBMITTED_ACCEPTED && last.one[0].deliveries == 2 && last.one[0].original_id == 0);
  CHECK(last.one[1].result == SBX_SUBMITTED_UNREACHED && last.one[1].deliveries == 0);
  CHECK(last.one[2].result == SBX_SUBMITTED_ACCEPTED && last.one[2].deliveries == 1);
  for (int i = 0; i < 3; i++) CHECK(last.one[i].event_id != 0 && last.ids[i] == last.one[i].event_id);
  uint64_t first = last.one[0].event_id;
  sbx_device phone = {.struct_size = sizeof phone, .platform = str("ios"), .token = str("a")};
  sbx_recipient to = {.struct_size = sizeof to, .device = &phone};
  sbx_event again = {.struct_size = sizeof again, .type = str("t"), .dedupe = str("k1"), .data = str("{\"title\":\"T\"}"),
                     .recipients = &to, .recipient_count = 1, .recipient_stride = sizeof to};
  CHECK(sbx_gateway_submit_wait(gateway, str("shop"), &again, 1, sizeof again, on_submission, &last, &error) == SBX_OK);
  CHECK(last.calls == 2 && last.count == 1);
  CHECK(last.one[0].result == SBX_SUBMITTED_DUPLICATE && last.one[0].original_id == first && last.one[0].deliveries == 0);
  CHECK(last.ids[0] == 0 && last.one[0].event_id != 0 && last.one[0].event_id != first);
  sbx_event lost = {.struct_size = sizeof lost, .type = str("t")};
  CHECK(sbx_gateway_submit_wait(gateway, str("lost"), &lost, 1, sizeof lost, on_submission, &last, &error) == SBX_OK);
  CHECK(last.one[0].result == SBX_SUBMITTED_UNROUTED && last.ids[0] == last.one[0].event_id);
  CHECK(sbx_gateway_submit_wait(gateway, str("lost"), &lost, 1, sizeof lost, NULL, NULL, &error) == SBX_OK);
  CHECK(sbx_gateway_submit_wait(gateway, str("stranger"), &lost, 1, sizeof lost, on_submission, &last, &error) == SBX_E_INVALID);
  CHECK(last.calls == 3);
  wait_for(2, 1);

  /* Admin requests, without a listener and without a token. */
  CHECK(ask(gateway, "GET", "/readyz", "", "") == 200);
  char query[64];
  snprintf(query, sizeof query, "event=%llu", (unsigned long long)first);
  do CHECK(ask(gateway, "GET", "/trace", query, "") == 200); while (faults == 0 && !has("\"delivered\""));
  CHECK(has("\"route\":\"shop\""));
  do CHECK(ask(gateway, "GET", "/dead", "", "") == 200); while (faults == 0 && number("\"count\":") == 0);
  CHECK(has("refused"));
  CHECK(ask(gateway, "POST", "/dead/purge", "", "{\"all\":true}") == 200 && number("\"count\":") == 1);
  CHECK(ask(gateway, "POST", "/pause", "", "{\"sender\":\"post\",\"by\":\"host\"}") == 200);
  CHECK(ask(gateway, "GET", "/paused", "", "") == 200 && has("\"post\""));
  CHECK(ask(gateway, "POST", "/resume", "", "{\"sender\":\"post\"}") == 200);
  CHECK(ask(gateway, "GET", "/metrics", "", "") == 200 && has("signalbox_deliveries_total"));
  CHECK(ask(gateway, "GET", "/nothing", "", "") == 404 && has("/trace"));
  CHECK(ask(gateway, "GET", "/pause", "", "") == 405);
  sbx_request none = {.struct_size = sizeof none};
  CHECK(sbx_gateway_admin(gateway, &none, on_answer, NULL, &error) == SBX_E_INVALID);

  /* Nothing below the level has come; from now on it does. A reload of the same level changes nothing of that. */
  CHECK(below_warn == 0);
  CHECK(ask(gateway, "GET", "/log-level", "", "") == 200 && has("warning"));
  CHECK(ask(gateway, "POST", "/log-level", "", "{\"level\":\"debug\"}") == 200 && has("debug"));
  CHECK(sbx_gateway_submit_json_wait(gateway, str("shop"), three, NULL, NULL, &error) == SBX_OK);
  wait_for(2, 2);
  CHECK(below_warn > 0);

  /* Reloads say what they change, before and after. */
  CHECK(sbx_gateway_reload_report(gateway, str(changed), SBX_RELOAD_CHECK, on_report, &reports, &error) == SBX_OK);
  CHECK(reports == 1 && has("\"check\":true") && has("\"added\":[\"more\"]") && has("\"removed\":[\"shop\"]"));
  CHECK(sbx_gateway_reload_report(gateway, str(changed), 0, on_report, &reports, &error) == SBX_OK);
  CHECK(reports == 2 && has("\"check\":false") && has("\"kept\":[\"post\",\"texts\"]") && has("\"need_restart\":[\"name\"]"));
  CHECK(has("\"settings\":[\"drain\"]"));
  CHECK(sbx_gateway_reload_report(gateway, str(faulty), 0, on_report, &reports, &error) == SBX_E_INVALID);
  CHECK(reports == 3 && has("{\"faults\":[{") && has("\"line\":2") && has("\"code\":\"unknown-key\""));
  CHECK(strstr(error.message, "gateway.yaml:"));
  CHECK(sbx_gateway_reload_report(gateway, str(""), 2, on_report, &reports, &error) == SBX_E_INVALID && reports == 3);
  CHECK(sbx_gateway_check(gateway, str(changed), on_findings, NULL, &error) == SBX_OK && findings_faults == 0);
  sbx_gateway_destroy(gateway);
  levels(other);
  return faults != 0;
}
