/* A plugin with every role and every service, for tests of processes that end. A text that
 * contains "SEGV", "ABRT", "EXIT", "LOOP" or "FORK" ends the process that way; the last one leaves another process, whose
 * id is in the marker's file. With "marker" in its
 * config it ends only once: the first time it leaves that file behind. "chatter" writes to standard error, and
 * "talk" more than it may to the log. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
#define SERVICE(type, id) ((const type *)i->host->service(i->host, id))

struct sbx_instance {
  const sbx_host *host;
  char marker[512];
  char in_start[16], in_stop[16];
  int renewed;
};

static int has(sbx_str text, const char *word) { return text.len && memmem(text.ptr, text.len, word, strlen(word)) != NULL; }

static void end(const char *marker, sbx_str text) {
  if (!has(text, "SEGV") && !has(text, "ABRT") && !has(text, "EXIT") && !has(text, "LOOP") &&
      !has(text, "FORK"))
    return;
  if (marker && *marker) {
    FILE *file = fopen(marker, "wx");
    if (!file) return;
    if (has(text, "FORK")) {
      pid_t child = fork();
      if (!child) {
        for (;;) pause();
      }
      fprintf(file, "%d", (int)child);
    }
    fclose(file);
  }
  if (has(text, "FORK")) abort();
  if (has(text, "SEGV")) *(volatile int *)8 = 0;
  if (has(text, "ABRT")) abort();
  if (has(text, "EXIT")) exit(0);
  for (volatile int forever = 1; forever;) {}
}

static void read_text(const sbx_json *json, sbx_json_value root, sbx_str pointer, char *out, size_t room) {
  sbx_json_value value;
  sbx_str text;
  if (json->at(root, pointer, &value) == SBX_OK && json->string(value, &text) == SBX_OK)
    snprintf(out, room, "%.*s", (int)text.len, text.ptr);
}

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  char in_create[16] = "";
  sbx_json_value root;
  sbx_instance *i = calloc(1, sizeof *i);
  if (!i || json->parse(host, config, &root, error) != SBX_OK) return SBX_E_INTERNAL;
  i->host = host;
  read_text(json, root, STR("/marker"), i->marker, sizeof i->marker);
  read_text(json, root, STR("/create"), in_create, sizeof in_create);
  read_text(json, root, STR("/start"), i->in_start, sizeof i->in_start);
  read_text(json, root, STR("/stop"), i->in_stop, sizeof i->in_stop);
  if (!strcmp(in_create, "chatter")) {
    for (int line = 0; line < 150; line++) fprintf(stderr, "line %d of the plugin\n", line);
    fprintf(stderr, "its last words");
    exit(3);
  }
  if (!strcmp(in_create, "talk")) {
    const sbx_log *log = host->service(host, SBX_SVC_LOG);
    for (int line = 0; line < 1050; line++) log->write(host, SBX_LOG_INFO, STR("talking"), NULL, 0);
  }
  end(i->marker, (sbx_str){in_create, strlen(in_create)});
  if (!strcmp(in_create, "refuse")) {
    strcpy(error->message, "not this config");
    return SBX_E_INVALID;
  }
  *out = i;
  return SBX_OK;
}

static sbx_status renew(sbx_instance *i, sbx_str name, sbx_error *error) {
  (void)error;
  char value[32];
  snprintf(value, sizeof value, "value-%d", ++i->renewed);
  return SERVICE(sbx_credential, SBX_SVC_CREDENTIAL)->set(i->host, name, (sbx_str){value, strlen(value)},
      SERVICE(sbx_clock, SBX_SVC_CLOCK)->unix_ms(i->host) + 3600000, 0);
}

static sbx_status start(sbx_instance *i, sbx_error *error) {
  (void)error;
  end(i->marker, (sbx_str){i->in_start, strlen(i->in_start)});
  return SERVICE(sbx_credential, SBX_SVC_CREDENTIAL)->define(i->host, STR("token"), 0, renew);
}

static sbx_status stop(sbx_instance *i, uint64_t deadline, sbx_error *error) {
  (void)deadline, (void)error;
  end(i->marker, (sbx_str){i->in_stop, strlen(i->in_stop)});
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

/* ---- ingest ---- */

static const sbx_ingest_path the_paths[] = {{sizeof(sbx_ingest_path), 0, {"/every/{thing}", 14}, {"GET,POST", 8}}};
static sbx_status paths(sbx_instance *i, const sbx_ingest_path **p, size_t *n, size_t *stride) {
  (void)i;
  *p = the_paths, *n = 1, *stride = sizeof *the_paths;
  return SBX_OK;
}

struct open { sbx_instance *i; sbx_ingest_sink *sink; int ends; };
static void finish(void *context) {
  struct open *open = context;
  if (open->ends) end(open->i->marker, STR("ABRT"));
  sbx_event event = {.struct_size = sizeof event, .type = STR("x.late"), .data = STR("{\"late\":true}")};
  open->sink->emit(open->sink, &event, 1, sizeof event);
  open->sink->finish(open->sink, SBX_OK, NULL);
  free(open);
}

/* The services' answers, one line each, in the order in which they arrive. */
struct report { sbx_instance *i; sbx_ingest_sink *sink; char text[4096]; size_t len; int left; pthread_mutex_t lock; };
static void note(struct report *r, const char *what, sbx_status status, sbx_str text) {
  int count = snprintf(r->text + r->len, sizeof r->text - r->len, "%s %d %.*s\n", what, status, (int)text.len, text.ptr);
  r->len += count > 0 ? (size_t)count : 0;
}
static void got_answer(void *context, const sbx_http_answer *answer);
static void got_value(void *context, sbx_status status, sbx_str value) {
  struct report *r = context;
  note(r, "value", status, value);
  const sbx_host *h = r->i->host;
  sbx_http_call call = {.struct_size = sizeof call, .method = STR("POST"), .url = STR("https://x/y"), .body = STR("ping")};
  sbx_status begun = ((const sbx_http *)h->service(h, SBX_SVC_HTTP))->submit(h, &call, got_answer, r);
  if (begun != SBX_OK) {
    note(r, "call", begun, STR(""));
    r->sink->finish(r->sink, SBX_E_INTERNAL, NULL);
  }
}
static void listed(void *context, sbx_status status, const sbx_str *keys, size_t n) {
  struct report *r = context;
  for (size_t k = 0; k < n; k++) note(r, "key", status, keys[k]);
  const sbx_host *h = r->i->host;
  ((const sbx_kv_store *)h->service(h, SBX_SVC_KV))->get(h, STR("k"), got_value, r);
}
/* The edits of durable values, one after the other. */
static void edit(struct report *r);
static void added(void *context, sbx_status status, int64_t sum) {
  struct report *r = context;
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)sum);
  note(r, "added", status, (sbx_str){text, strlen(text)});
  edit(r);
}
static void replaced(void *context, sbx_status status, sbx_str value) {
  struct report *r = context;
  note(r, "replaced", status, value);
  edit(r);
}
static void edit(struct report *r) {
  static const sbx_str no = STR("no"), yes = STR("kept"), count = STR("7");
  const sbx_host *h = r->i->host;
  const sbx_kv_store *kv = h->service(h, SBX_SVC_KV);
  sbx_status status = SBX_OK;
  switch (r->left++) {
    case 0: status = kv->add(h, STR("n"), 9, 60000, added, r); break;
    case 1: status = kv->add(h, STR("n"), -2, 60000, added, r); break;
    case 2: status = kv->add(h, STR("k"), 1, 0, added, r); break;
    case 3: status = kv->replace(h, STR("k"), &no, &yes, 0, replaced, r); break;
    case 4: status = kv->replace(h, STR("m"), &no, &yes, 0, replaced, r); break;
    case 5: status = kv->replace(h, STR("k"), NULL, &yes, 0, replaced, r); break;
    case 6: status = kv->replace(h, STR("m"), NULL, &yes, 60000, replaced, r); break;
    case 7: status = kv->replace(h, STR("n"), &count, NULL, 0, replaced, r); break;
    default:
      note(r, "none asked", kv->list(h, STR(""), STR(""), 0, listed, r), STR(""));
      note(r, "too many", kv->list(h, STR(""), STR(""), 257, listed, r), STR(""));
      note(r, "keyless", kv->add(h, STR(""), 1, 0, added, r), STR(""));
      status = kv->list(h, STR(""), STR(""), 256, listed, r);
  }
  if (status == SBX_OK) return;
  note(r, "edit", status, STR(""));
  r->sink->finish(r->sink, SBX_E_INTERNAL, NULL);
}
static void kept(void *context, sbx_status status, sbx_str value) {
  struct report *r = context;
  note(r, "put", status, value);
  edit(r);
}
static void found(void *context, sbx_status status, const sbx_device *devices, size_t n, size_t stride) {
  struct report *r = context;
  for (size_t k = 0; k < n; k++) note(r, "device", status, SBX_AT(sbx_device, devices, k, stride)->token);
  r->sink->respond(r->sink, 200, NULL, 0, (sbx_str){r->text, r->len});
  r->sink->finish(r->sink, SBX_OK, NULL);
  free(r);
}
static void changed(void *context, sbx_status status, const sbx_device *devices, size_t n, size_t stride) {
  struct report *r = context;
  (void)devices, (void)stride;
  note(r, "changed", status, STR(""));
  note(r, "none", (sbx_status)n, STR(""));
  const sbx_host *h = r->i->host;
  ((const sbx_registry *)h->service(h, SBX_SVC_REGISTRY))->devices(h, STR("app"), STR("u1"), found, r);
}
static void got_answer(void *context, const sbx_http_answer *answer) {
  struct report *r = context;
  char text[128];
  snprintf(text, sizeof text, "%u %.*s", answer->http_status, (int)answer->body.len, answer->body.ptr);
  note(r, "call", answer->status, (sbx_str){text, strlen(text)});
  const sbx_host *h = r->i->host;
  sbx_device device = {.struct_size = sizeof device, .app = STR("app"), .platform = STR("ios"), .token = STR("t9"), .user = STR("u1")};
  sbx_change change = {.struct_size = sizeof change, .kind = SBX_CHANGE_REGISTERED, .device = &device};
  ((const sbx_registry *)h->service(h, SBX_SVC_REGISTRY))->change(h, &change, changed, r);
}

static sbx_status services(sbx_instance *i, sbx_ingest_sink *sink, sbx_error *error) {
  struct report *r = calloc(1, sizeof *r);
  const sbx_host *h = i->host;
  char buffer[512];
  size_t len = sizeof buffer;
  int32_t offset = 0;
  r->i = i, r->sink = sink;
  sbx_kv field = {STR("k"), STR("v")};
  SERVICE(sbx_log, SBX_SVC_LOG)->write(h, SBX_LOG_INFO, STR("a line"), &field, 1);
  const sbx_metrics *metrics = SERVICE(sbx_metrics, SBX_SVC_METRICS);
  uint64_t counter = metrics->counter(h, STR("seen_total"), &field, 1);
  uint64_t gauge = metrics->gauge(h, STR("level"), NULL, 0);
  metrics->add(h, counter, 3), metrics->add(h, counter, 4), metrics->set(h, gauge, -5);
  note(r, "secret", SERVICE(sbx_secrets, SBX_SVC_SECRETS)->get(h, STR("key"), buffer, &len), (sbx_str){buffer, len});
  len = sizeof buffer;
  const sbx_sign *sign = SERVICE(sbx_sign, SBX_SVC_SIGN);
  sbx_status status = sign->sign(h, SBX_SIGN_HMAC_SHA256, STR("key"), STR(""), STR("data"), buffer, &len, error);
  note(r, "sign", status, (sbx_str){"", 0});
  note(r, "verify", sign->verify(h, SBX_SIGN_HMAC_SHA256, STR("key"), STR(""), STR("data"), (sbx_str){buffer, len}, error), STR(""));
  buffer[0] ^= 1;
  note(r, "forged", sign->verify(h, SBX_SIGN_HMAC_SHA256, STR("key"), STR(""), STR("data"), (sbx_str){buffer, len}, error), STR(""));
  len = sizeof buffer;
  const sbx_crypto *crypto = SERVICE(sbx_crypto, SBX_SVC_CRYPTO);
  sbx_crypto_key secret = {.struct_size = sizeof secret, .secret = STR("key")};
  status = crypto->hmac(h, SBX_HASH_SHA256, &secret, STR("data"), buffer, &len, error);
  note(r, "hmac", sign->verify(h, SBX_SIGN_HMAC_SHA256, STR("key"), STR(""), STR("data"), (sbx_str){buffer, len}, error), STR(""));
  len = sizeof buffer;
  note(r, "no half", sign->public_key(h, STR("key"), STR(""), SBX_KEY_RAW, buffer, &len, error), STR(""));
  note(r, "no key", sign->sign(h, SBX_SIGN_ES256, STR("key"), STR(""), STR("data"), buffer, &len, error), STR(""));
  const sbx_clock *clock = SERVICE(sbx_clock, SBX_SVC_CLOCK);
  note(r, "zone", clock->utc_offset(h, STR("Asia/Tokyo"), 0, &offset), STR(""));
  note(r, "offset", offset, STR(""));
  note(r, "no zone", clock->utc_offset(h, STR("No/Where"), 0, &offset), STR(""));
  snprintf(buffer, sizeof buffer, "%llu", (unsigned long long)clock->unix_ms(h));
  note(r, "time", SBX_OK, (sbx_str){buffer, 7});
  sbx_str credential = STR("");
  note(r, "no credential", SERVICE(sbx_credential, SBX_SVC_CREDENTIAL)->get(h, STR("nothing"), &credential), STR(""));
  status = sink->defer(sink, 10000);
  if (status == SBX_OK) status = SERVICE(sbx_kv_store, SBX_SVC_KV)->put(h, STR("k"), STR("kept"), 0, kept, r);
  return status;
}

static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  if (has(request->body, "services")) return services(i, sink, error);
  if (has(request->body, "garbage")) {
    if (write(3, "this is no message at all, and it is longer than a head", 55) < 0) return SBX_E_INTERNAL;
    return SBX_OK;
  }
  if (has(request->body, "flood"))
    for (int k = 0; k < 100000; k++)
      SERVICE(sbx_log, SBX_SVC_LOG)->write(i->host, SBX_LOG_ERROR, STR("again and again and again and again"), NULL, 0);
  if (has(request->body, "defer")) {
    struct open *open = malloc(sizeof *open);
    *open = (struct open){i, sink, has(request->body, "and end")};
    sink->defer(sink, has(request->body, "briefly") ? 20 : 60000);
    if (!has(request->body, "briefly")) SERVICE(sbx_timer, SBX_SVC_TIMER)->after(i->host, 5, finish, open);
    return SBX_OK;
  }
  end(i->marker, request->body);
  if (has(request->body, "refuse")) {
    strcpy(error->message, "not this body");
    return SBX_E_AUTH;
  }
  sbx_device devices[2] = {
      {.struct_size = sizeof *devices, .app = STR("app"), .platform = STR("ios"), .token = STR("one"), .locale = STR("de")},
      {.struct_size = sizeof *devices, .app = STR("app"), .platform = STR("web"), .token = STR("two"), .user = request->remote}};
  sbx_kv muted = {STR("muted"), STR("yes")};
  sbx_recipient recipients[2] = {{.struct_size = sizeof *recipients, .device = devices},
      {.struct_size = sizeof *recipients, .device = devices + 1, .attributes = &muted, .attribute_count = 1}};
  sbx_event event = {.struct_size = sizeof event, .type = STR("x.y"), .subject = request->params[0].value,
      .dedupe = request->query, .data = STR("{\"a\":[1,2]}"), .recipients = recipients, .recipient_count = 2,
      .recipient_stride = sizeof *recipients, .dedupe_window_ms = 7000};
  sbx_change change = {.struct_size = sizeof change, .kind = SBX_CHANGE_UNREGISTERED, .device = devices, .reason = STR("gone")};
  sbx_status status = sink->emit(sink, &event, 1, sizeof event);
  if (status == SBX_OK) status = sink->change(sink, &change, 1, sizeof change);
  sink->reject(sink, STR("odd"), STR("the third one"));
  sink->respond(sink, 202, request->headers, request->header_count, request->body);
  return status;
}

/* ---- build ---- */

static sbx_status build(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  end(i->marker, input->event->subject);
  if (has(input->event->subject, "refuse")) {
    strcpy(error->message, "not this event");
    return SBX_E_UNSUPPORTED;
  }
  sbx_kv override = {STR("apns"), STR("{\"aps\":{\"x\":1}}")};
  sbx_notification note = {.struct_size = sizeof note, .flags = SBX_N_BADGE | SBX_N_MUTABLE, .badge = 7, .title = input->event->type,
      .body = input->route, .thread = input->options, .data = input->event->data, .link = input->instance,
      .overrides = &override, .override_count = 1};
  for (uint32_t k = 0; k < input->recipient_count; k++) {
    const sbx_recipient *one = SBX_AT(sbx_recipient, input->recipients, k, input->recipient_stride);
    sbx_target target = {.struct_size = sizeof target, .flags = SBX_T_BADGE, .recipient = k, .badge = (int32_t)k};
    if (one->attribute_count) sink->skip(sink, k, STR("muted"));
    else if (k < 2) sink->emit(sink, &note, &target, 1, sizeof target);
  }
  return SBX_OK;
}

/* ---- send-http and register ---- */

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *e, sbx_error *error) {
  (void)i;
  if (has(app, "nowhere")) {
    strcpy(error->message, "no such app");
    return SBX_E_NOT_FOUND;
  }
  e->origin = STR("https://every.thing:443");
  e->flags = SBX_ENDPOINT_ONE_STREAM_FIRST | (has(app, "once") ? SBX_ENDPOINT_AT_MOST_ONCE : 0);
  e->request_timeout_ms = 1234, e->streams_max = 9;
  return SBX_OK;
}

static void request(sbx_http_sink *sink, sbx_str token, sbx_str text, uint64_t item) {
  char path[300];
  snprintf(path, sizeof path, "/to/%.*s", (int)token.len, token.ptr);
  sbx_kv headers[2] = {{STR("x-token"), token}, {STR("x-kind"), STR("plain")}};
  sbx_str body[3] = {STR("<"), text, STR(">")};
  sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = {path, strlen(path)}, .headers = headers,
      .header_count = 2, .body = body, .body_segments = 3, .items = &item, .item_count = 1};
  sink->request(sink, &r, 1, sizeof r);
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride, sbx_http_sink *sink,
                          sbx_error *error) {
  (void)app;
  sbx_str token;
  if (SERVICE(sbx_credential, SBX_SVC_CREDENTIAL)->get(i->host, STR("token"), &token) != SBX_OK) return SBX_E_AGAIN;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, d, k, stride);
    if (one->attempt == 1 || !has(one->device->token, "first")) end(i->marker, one->device->token);
    if (has(one->device->token, "refuse")) {
      strcpy(error->message, "not this one");
      return SBX_E_INTERNAL;
    }
    sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_REJECTED, .item = one->id, .reason = STR("odd"),
        .detail = one->notification->title, .new_token = one->stable_id, .credential = token};
    if (has(one->device->token, "settle")) sink->settle(sink, &o, 1, sizeof o);
    else if (!has(one->device->token, "forget")) request(sink, one->device->token, one->notification->title, one->id);
  }
  return SBX_OK;
}

static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t stride, sbx_http_sink *sink, sbx_error *error) {
  (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, r, k, stride);
    end(i->marker, one->body);
    sbx_outcome o = {.struct_size = sizeof o, .kind = one->http_status / 100 == 2 ? SBX_OUTCOME_DELIVERED : SBX_OUTCOME_THROTTLED,
        .item = one->items[0], .provider_code = one->http_status, .reason = one->app, .detail = one->body,
        .retry_after_ms = 50, .flags = SBX_OUTCOME_RECONNECT, .scope = SBX_SCOPE_APP, .gone_since_unix_ms = 5,
        .provider_id = one->header_count ? one->headers[0].value : STR("")};
    if (one->http_status == 302) request(sink, STR("again"), one->body, one->items[0]);
    else sink->settle(sink, &o, 1, sizeof o);
  }
  return SBX_OK;
}

static sbx_status report(sbx_instance *i, sbx_str app, const sbx_change *c, size_t n, size_t stride, sbx_http_sink *sink,
                         sbx_error *error) {
  (void)i, (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_change *one = SBX_AT(sbx_change, c, k, stride);
    end(i->marker, one->device->token);
    request(sink, one->device->token, one->kind == SBX_CHANGE_INVALID ? one->reason : one->subject, one->id);
  }
  return SBX_OK;
}

/* ---- send ---- */

struct parcel { sbx_instance *i; const sbx_delivery *d; size_t n, stride; };
static void *carry(void *context) {
  struct parcel *p = context;
  const sbx_send_host *out = p->i->host->service(p->i->host, SBX_SVC_SEND_HOST);
  for (size_t k = 0; k < p->n; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, p->d, k, p->stride);
    end(p->i->marker, one->device->token);
    if (has(one->device->token, "forget")) continue;
    sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_DELIVERED, .item = one->id, .provider_id = one->device->token,
        .reason = STR("carried")};
    out->complete(p->i->host, &o, 1, sizeof o);
  }
  out->credit(p->i->host, 1);
  free(p);
  return NULL;
}
static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t stride, size_t *taken, sbx_error *error) {
  (void)app;
  pthread_t thread;
  if (has(d->device->token, "refuse")) {
    strcpy(error->message, "no parcels today");
    return SBX_E_INTERNAL;
  }
  if (has(d->device->token, "full")) return SBX_E_AGAIN;
  struct parcel *p = malloc(sizeof *p);
  *taken = has(d->device->token, "half") ? n / 2 : n;
  *p = (struct parcel){i, d, *taken, stride};
  pthread_create(&thread, NULL, carry, p);
  pthread_detach(thread);
  return SBX_OK;
}

static const sbx_ingest the_ingest = {sizeof the_ingest, 0, paths, handle};
static const sbx_build the_build = {sizeof the_build, 0, "{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"integer\"}}}", build};
static const sbx_send_http the_http = {sizeof the_http, 600, endpoint, prepare, classify};
static const sbx_send the_send = {sizeof the_send, 50, submit};
static const sbx_register the_register = {sizeof the_register, 100, 1u << SBX_CHANGE_INVALID | 1u << SBX_CHANGE_PROVEN, endpoint, report, classify};
static const void *role(const char *id) {
  if (!strcmp(id, SBX_ROLE_INGEST)) return &the_ingest;
  if (!strcmp(id, SBX_ROLE_BUILD)) return &the_build;
  if (!strcmp(id, SBX_ROLE_SEND_HTTP)) return &the_http;
  if (!strcmp(id, SBX_ROLE_SEND)) return &the_send;
  return strcmp(id, SBX_ROLE_REGISTER) ? NULL : &the_register;
}
static const char *const roles[] = {SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_SEND, SBX_ROLE_REGISTER, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.everything", "1.0.0",
  "every role, every service", roles, NULL,
  "{\"type\":\"object\",\"properties\":{\"marker\":{\"type\":\"string\"},\"create\":{\"type\":\"string\"},"
  "\"start\":{\"type\":\"string\"},\"stop\":{\"type\":\"string\"},\"key\":{\"type\":\"string\",\"format\":\"secret\"}}}",
  create, role, start, stop, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) { (void)h, (void)e; return &plugin; }
