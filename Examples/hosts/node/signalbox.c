/* A gateway for Node: the functions of gateway.h as functions that return promises. Only Node-API, whose ABI is
 * stable, is used, so the addon runs in every Node since 12.
 *
 * open({ library, config, data, onResult }) makes a gateway, and call(gateway, name, ...texts) calls it on a thread
 * of Node's pool, since most functions of gateway.h wait. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <node_api.h>
#include <signalbox/gateway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 4 };
static sbx_str str(const char *text) { return (sbx_str){text, strlen(text)}; }
static char *copy(sbx_str text) { return text.len ? strndup(text.ptr, text.len) : strdup(""); }

/* ---- the library ---- */

/* Node has its own copy of the C library's `environ`; code that is bound with RTLD_DEEPBIND reads the original, which is
 * empty then. On JavaScript's thread, the only one that changes process.env. */
static void share_environment(void) {
  static char ***original;
  if (!original) original = (char ***)dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "environ");
  if (original) *original = environ;
}

static struct {
  __typeof__(&sbx_gateway_create) create;
  __typeof__(&sbx_gateway_start) start;
  __typeof__(&sbx_gateway_check) check;
  __typeof__(&sbx_gateway_submit_json_wait) submit;
  __typeof__(&sbx_gateway_handle) handle;
  __typeof__(&sbx_gateway_admin) admin;
  __typeof__(&sbx_gateway_reload_report) reload;
  __typeof__(&sbx_gateway_drain) drain;
  __typeof__(&sbx_gateway_destroy) destroy;
} lib;

/* Node exports an OpenSSL and an nghttp2 of its own. RTLD_DEEPBIND lets the gateway keep those that it was linked
 * with; an addon that links with the library would get a mixture. */
static const char *load(const char *path) {
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!so) return dlerror();
#define FIND(member, symbol) if (!(*(void **)&lib.member = dlsym(so, #symbol))) return "the library is older than 1.1";
  FIND(create, sbx_gateway_create) FIND(start, sbx_gateway_start) FIND(check, sbx_gateway_check)
  FIND(submit, sbx_gateway_submit_json_wait) FIND(handle, sbx_gateway_handle) FIND(admin, sbx_gateway_admin)
  FIND(reload, sbx_gateway_reload_report) FIND(drain, sbx_gateway_drain) FIND(destroy, sbx_gateway_destroy)
  return NULL;
}

/* ---- values ---- */
static napi_value text(napi_env env, const char *value) {
  napi_value out;
  napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &out);
  return out;
}
static void put(napi_env env, napi_value object, const char *name, const char *value) {
  napi_set_named_property(env, object, name, text(env, value));
}
static void number(napi_env env, napi_value object, const char *name, double value) {
  napi_value out;
  napi_create_double(env, value, &out);
  napi_set_named_property(env, object, name, out);
}
/* A JavaScript number cannot hold an id. */
static void big(napi_env env, napi_value object, const char *name, uint64_t value) {
  napi_value out;
  napi_create_bigint_uint64(env, value, &out);
  napi_set_named_property(env, object, name, out);
}
static char *given(napi_env env, napi_value value) {
  size_t n = 0;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &n) != napi_ok) return strdup("");
  char *out = malloc(n + 1);
  napi_get_value_string_utf8(env, value, out, n + 1, &n);
  return out;
}
static char *property(napi_env env, napi_value object, const char *name) {
  napi_value value;
  napi_get_named_property(env, object, name, &value);
  return given(env, value);
}

/* ---- results of deliveries, from threads of the gateway to JavaScript's ---- */
typedef struct { uint32_t result; uint64_t event; char *route, *reason; } result;

static void on_results(void *context, const sbx_delivery_result *list, size_t n, size_t stride) {
  for (size_t i = 0; i < n; i++) {
    const sbx_delivery_result *one = SBX_AT(sbx_delivery_result, list, i, stride);
    result *r = malloc(sizeof *r);
    *r = (result){one->result, one->event_id, copy(one->route), copy(one->reason)};
    napi_call_threadsafe_function(context, r, napi_tsfn_nonblocking);
  }
}
static void tell(napi_env env, napi_value function, void *context, void *data) {
  (void)context;
  result *r = data;
  if (env) {
    napi_value object, nothing;
    napi_create_object(env, &object);
    number(env, object, "result", r->result);
    big(env, object, "event", r->event);
    put(env, object, "route", r->route);
    put(env, object, "reason", r->reason);
    napi_get_undefined(env, &nothing);
    napi_call_function(env, nothing, function, 1, &object, NULL);
  }
  free(r->route), free(r->reason), free(r);
}

/* ---- calls ---- */
typedef struct { sbx_gateway *gateway; napi_threadsafe_function results; } host;
typedef struct { sbx_finding raw; char *file, *code, *message; } finding;
typedef struct {
  napi_async_work work;
  napi_deferred promise;
  host *host;
  char *name, *texts[TEXTS];
  sbx_status status;
  sbx_error error;
  /* What came of it. */
  uint32_t http_status;
  uint64_t left;
  char *body;
  finding *findings;
  sbx_submitted *events;
  size_t count;
} call;

static void on_answer(void *context, const sbx_answer *answer) {
  ((call *)context)->http_status = answer->http_status;
  ((call *)context)->body = copy(answer->body);
}
static void on_report(void *context, sbx_str json) { ((call *)context)->body = copy(json); }
static void on_findings(void *context, const sbx_finding *list, size_t n, size_t stride) {
  call *c = context;
  c->findings = calloc(n + 1, sizeof *c->findings);
  c->count = n;
  for (size_t i = 0; i < n; i++) {
    const sbx_finding *one = SBX_AT(sbx_finding, list, i, stride);
    c->findings[i] = (finding){*one, copy(one->file), copy(one->code), copy(one->message)};
  }
}
static void on_submission(void *context, const sbx_submission *s) {
  call *c = context;
  c->events = calloc(s->event_count + 1, sizeof *c->events);
  c->count = s->event_count;
  for (size_t i = 0; i < s->event_count; i++) c->events[i] = *SBX_AT(sbx_submitted, s->events, i, s->event_stride);
}

/* On a thread of the pool. */
static void run(napi_env env, void *data) {
  (void)env;
  call *c = data;
  sbx_gateway *g = c->host->gateway;
  sbx_request r = {.struct_size = sizeof r, .method = str(c->texts[0]), .path = str(c->texts[1]),
                   .query = str(c->texts[2]), .body = str(c->texts[3])};
  if (!g) c->status = SBX_E_STOPPING;
  else if (!strcmp(c->name, "start")) c->status = lib.start(g, &c->error);
  else if (!strcmp(c->name, "check")) c->status = lib.check(g, str(c->texts[0]), on_findings, c, &c->error);
  else if (!strcmp(c->name, "submit"))
    c->status = lib.submit(g, str(c->texts[0]), str(c->texts[1]), on_submission, c, &c->error);
  else if (!strcmp(c->name, "handle")) c->status = lib.handle(g, &r, on_answer, c, &c->error);
  else if (!strcmp(c->name, "admin")) c->status = lib.admin(g, &r, on_answer, c, &c->error);
  else if (!strcmp(c->name, "reload")) c->status = lib.reload(g, str(c->texts[0]), 0, on_report, c, &c->error);
  else if (!strcmp(c->name, "stop")) {
    c->status = lib.drain(g, 5000, &c->left);
    lib.destroy(g);
    c->host->gateway = NULL;
  } else c->status = SBX_E_UNSUPPORTED;
}

static napi_value outcome(napi_env env, call *c) {
  napi_value out, one;
  if (c->findings || c->events) napi_create_array(env, &out);
  else napi_create_object(env, &out);
  for (size_t i = 0; i < c->count; i++) {
    napi_create_object(env, &one);
    if (c->findings) {
      finding *f = &c->findings[i];
      napi_value is_fault;
      napi_get_boolean(env, f->raw.severity == SBX_FINDING_FAULT, &is_fault);
      napi_set_named_property(env, one, "isFault", is_fault);
      number(env, one, "line", f->raw.line);
      number(env, one, "column", f->raw.column);
      put(env, one, "file", f->file);
      put(env, one, "code", f->code);
      put(env, one, "message", f->message);
    } else {
      number(env, one, "result", c->events[i].result);
      big(env, one, "event", c->events[i].event_id);
      big(env, one, "original", c->events[i].original_id);
      number(env, one, "deliveries", (double)c->events[i].deliveries);
    }
    napi_set_element(env, out, (uint32_t)i, one);
  }
  if (c->findings || c->events) return out;
  if (c->body) put(env, out, "body", c->body);
  if (c->http_status) number(env, out, "status", c->http_status);
  number(env, out, "left", (double)c->left);
  return out;
}

/* On JavaScript's thread. */
static void finish(napi_env env, napi_status status, void *data) {
  (void)status;
  call *c = data;
  if (c->status == SBX_OK) {
    napi_resolve_deferred(env, c->promise, outcome(env, c));
  } else {
    napi_value error;
    char words[400];
    snprintf(words, sizeof words, "%s: status %d %s", c->name, c->status, c->error.message);
    napi_create_error(env, NULL, text(env, words), &error);
    if (c->body) put(env, error, "report", c->body);
    napi_reject_deferred(env, c->promise, error);
  }
  /* Results that are on their way arrive before the function is gone. */
  if (!strcmp(c->name, "stop") && c->host->results) {
    napi_release_threadsafe_function(c->host->results, napi_tsfn_release);
    c->host->results = NULL;
  }
  for (size_t i = 0; c->findings && i < c->count; i++)
    free(c->findings[i].file), free(c->findings[i].code), free(c->findings[i].message);
  for (int i = 0; i < TEXTS; i++) free(c->texts[i]);
  napi_delete_async_work(env, c->work);
  free(c->findings), free(c->events), free(c->body), free(c->name), free(c);
}

static napi_value start_call(napi_env env, napi_callback_info info) {
  size_t n = 2 + TEXTS;
  napi_value args[2 + TEXTS], promise;
  void *pointer;
  napi_get_cb_info(env, info, &n, args, NULL, NULL);
  if (n < 2 || napi_get_value_external(env, args[0], &pointer) != napi_ok)
    return napi_throw_error(env, NULL, "call(gateway, name, ...texts)"), NULL;
  share_environment();
  call *c = calloc(1, sizeof *c);
  c->host = pointer;
  c->error.struct_size = sizeof c->error;
  c->name = given(env, args[1]);
  for (size_t i = 0; i < TEXTS; i++) c->texts[i] = i + 2 < n ? given(env, args[i + 2]) : strdup("");
  napi_create_promise(env, &c->promise, &promise);
  napi_create_async_work(env, NULL, text(env, "signalbox"), run, finish, c, &c->work);
  napi_queue_async_work(env, c->work);
  return promise;
}

static napi_value open(napi_env env, napi_callback_info info) {
  size_t n = 1;
  napi_value options, function, out;
  napi_get_cb_info(env, info, &n, &options, NULL, NULL);
  char *library = property(env, options, "library"), *config = property(env, options, "config");
  char *data = property(env, options, "data");
  share_environment();
  const char *fault = lib.create ? NULL : load(library);
  sbx_error error = {.struct_size = sizeof error};
  host *h = calloc(1, sizeof *h);
  napi_get_named_property(env, options, "onResult", &function);
  napi_create_threadsafe_function(env, function, NULL, text(env, "signalbox"), 0, 1, NULL, NULL, NULL, tell, &h->results);
  if (!fault) {
    sbx_gateway_options o = {.struct_size = sizeof o, .config_file = str(config), .data_folder = str(data),
                             .program = str("shop"), .context = h->results, .results = on_results};
    if (lib.create(&o, &h->gateway, &error)) fault = error.message;
  }
  free(library), free(config), free(data);
  if (fault) {
    napi_throw_error(env, NULL, fault);
    napi_release_threadsafe_function(h->results, napi_tsfn_abort);
    free(h);
    return NULL;
  }
  /* The few bytes of `host` stay for late calls, which are told that nothing runs. */
  napi_create_external(env, h, NULL, NULL, &out);
  return out;
}

static napi_value begin(napi_env env, napi_value exports) {
  napi_value function;
  napi_create_function(env, "open", NAPI_AUTO_LENGTH, open, NULL, &function);
  napi_set_named_property(env, exports, "open", function);
  napi_create_function(env, "call", NAPI_AUTO_LENGTH, start_call, NULL, &function);
  napi_set_named_property(env, exports, "call", function);
  return exports;
}
NAPI_MODULE(signalbox, begin)
