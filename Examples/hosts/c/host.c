/* A program in C with a gateway inside: its own events, its own web server's requests, its own plugin.
 *   host DATA_FOLDER */
#include "console.h"
#include <pthread.h>
#include <signalbox/gateway.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char config[] =
    "version: 1\n"
    "gateway: { listen: false, admin: false, sources: [shop] }\n"
    "plugins:\n"
    "  texts: { library: Texts }\n"
    "  zendesk: { library: Zendesk, config: { path: /in/zendesk } }\n"
    "  console: { library: Console }\n"
    "routes:\n"
    "  - { name: shop, from: shop, build: { with: texts }, send: { console: console } }\n"
    "  - { name: support, from: zendesk, send: { ios: console } }\n";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned delivered;

static sbx_str str(const char *text) { return (sbx_str){text, strlen(text)}; }

/* Runs on a thread of the gateway. */
static void results(void *context, const sbx_delivery_result *list, size_t n, size_t stride) {
  (void)context;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < n; i++)
    if (SBX_AT(sbx_delivery_result, list, i, stride)->result == SBX_RESULT_DELIVERED) delivered++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void log_line(void *context, uint32_t level, sbx_str message, const sbx_kv *fields, size_t n) {
  (void)context;
  if (level < SBX_LOG_WARN) return;
  fprintf(stderr, "%.*s", (int)message.len, message.ptr);
  for (size_t i = 0; i < n; i++)
    fprintf(stderr, " %.*s=%.*s", (int)fields[i].key.len, fields[i].key.ptr, (int)fields[i].value.len,
            fields[i].value.ptr);
  fputc('\n', stderr);
}

static void answered(void *context, const sbx_answer *answer) { *(uint32_t *)context = answer->http_status; }

static int wait_for(unsigned count) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 30;
  pthread_mutex_lock(&lock);
  while (delivered < count && pthread_cond_timedwait(&changed, &lock, &until) == 0) {}
  int is_there = delivered >= count;
  pthread_mutex_unlock(&lock);
  return is_there;
}

static int failed(const char *what, sbx_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

int main(int argc, char **argv) {
  sbx_error error = {.struct_size = sizeof error};
  sbx_gateway_options options = {.struct_size = sizeof options, .config_text = str(config), .program = str("shop"),
                                 .program_version = str("1.0"), .log = log_line, .results = results};
  sbx_gateway *gateway;
  if (argc != 2) return fprintf(stderr, "host DATA_FOLDER\n"), 64;
  options.data_folder = str(argv[1]);
  if (sbx_gateway_create(&options, &gateway, &error)) return failed("create", &error);
  if (sbx_gateway_add_plugin(gateway, str("Console"), console_entry, &error)) return failed("add", &error);
  if (sbx_gateway_start(gateway, &error)) return failed("start", &error);

  /* An event as structs ... */
  sbx_device device = {.struct_size = sizeof device, .platform = str("console"), .token = str("tty"),
                       .user = str("ada"), .locale = str("de-AT")};
  sbx_recipient to = {.struct_size = sizeof to, .device = &device};
  sbx_event event = {.struct_size = sizeof event, .type = str("order.shipped"),
                     .data = str("{\"title\":{\"en\":\"Shipped\",\"de\":\"Versandt\"}}"),
                     .recipients = &to, .recipient_count = 1, .recipient_stride = sizeof to};
  if (sbx_gateway_submit(gateway, str("shop"), &event, 1, sizeof event, NULL, NULL, &error))
    return failed("submit", &error);
  /* ... as JSON ... */
  sbx_str json = str("{\"type\":\"order.paid\",\"data\":{\"title\":\"Paid\"},"
                     "\"recipients\":[{\"platform\":\"console\",\"token\":\"tty\",\"user\":\"bob\"}]}");
  if (sbx_gateway_submit_json(gateway, str("shop"), json, NULL, NULL, &error)) return failed("submit", &error);
  /* ... and a webhook that the program's own server has received. */
  sbx_request request = {.struct_size = sizeof request, .method = str("POST"), .path = str("/in/zendesk"),
                         .body = str("{\"devices\":[{\"identifier\":\"t\",\"type\":\"ios\"}],"
                                     "\"notification\":{\"title\":\"Agent replied\",\"body\":\"b\",\"ticket_id\":\"5\"}}")};
  uint32_t status = 0;
  if (sbx_gateway_handle(gateway, &request, answered, &status, &error)) return failed("handle", &error);
  if (status != 200) return fprintf(stderr, "the webhook was answered %u\n", status), 1;

  if (!wait_for(3)) return fprintf(stderr, "only %u of 3 were delivered\n", delivered), 1;
  if (sbx_gateway_reload(gateway, str(config), &error)) return failed("reload", &error);
  uint64_t left = 0;
  sbx_gateway_drain(gateway, 5000, &left);
  sbx_gateway_destroy(gateway);
  printf("delivered %u, left %llu\n", delivered, (unsigned long long)left);
  return left != 0;
}
