/* Wraps another plugin so that a test can end its process. A file in a folder, named after a
 * call, makes the next such call end the process as the file says (SEGV, ABRT, EXIT, LOOP), and
 * is then removed. A token with "poison" always ends it, and so does a request's body with "poisoned request". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signalbox/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INNER "@INNER@"
#define FOLDER "@FOLDER@"

static const sbx_plugin *inner;
static sbx_plugin outer;
static sbx_ingest ingest, my_ingest;
static sbx_build build, my_build;
static sbx_send_http http, my_http;

static void trap(const char *place) {
  char path[600], how[8] = "";
  snprintf(path, sizeof path, "%s/%s", FOLDER, place);
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (!fgets(how, sizeof how, file)) how[0] = 0;
  fclose(file);
  if (unlink(path)) return;
  if (!strcmp(how, "SEGV")) *(volatile int *)8 = 0;
  if (!strcmp(how, "ABRT")) abort();
  if (!strcmp(how, "EXIT")) exit(0);
  for (volatile int forever = 1; forever;) {}
}

static sbx_status handle(sbx_instance *i, const sbx_request *r, sbx_ingest_sink *sink, sbx_error *e) {
  if (memmem(r->body.ptr, r->body.len, "poisoned request", 16)) abort();
  sbx_status status = ingest.handle(i, r, sink, e);
  trap("ingest");
  return status;
}
static sbx_status make(sbx_instance *i, const sbx_build_input *in, sbx_build_sink *sink, sbx_error *e) {
  trap("build");
  return build.build(i, in, sink, e);
}
static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *out, sbx_error *e) {
  trap("endpoint");
  return http.endpoint(i, app, out, e);
}
static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *d, size_t n, size_t s, sbx_http_sink *sink, sbx_error *e) {
  sbx_status status = http.prepare(i, app, d, n, s, sink, e);
  if (status == SBX_E_AGAIN) return status;
  for (size_t k = 0; k < n; k++) {
    sbx_str token = SBX_AT(sbx_delivery, d, k, s)->device->token;
    if (memmem(token.ptr, token.len, "poison", 6)) abort();
  }
  trap("prepare");
  return status;
}
static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t s, sbx_http_sink *sink, sbx_error *e) {
  trap("classify");
  return http.classify(i, r, n, s, sink, e);
}

static const void *role(const char *id) {
  const void *given = inner->role(id);
  if (!given) return NULL;
  if (!strcmp(id, SBX_ROLE_INGEST)) {
    my_ingest = ingest = *(const sbx_ingest *)given;
    my_ingest.handle = handle;
    return &my_ingest;
  }
  if (!strcmp(id, SBX_ROLE_BUILD)) {
    my_build = build = *(const sbx_build *)given;
    my_build.build = make;
    return &my_build;
  }
  if (!strcmp(id, SBX_ROLE_SEND_HTTP)) {
    my_http = http = *(const sbx_send_http *)given;
    my_http.endpoint = endpoint;
    my_http.prepare = prepare;
    my_http.classify = classify;
    return &my_http;
  }
  return given;
}

static sbx_status create(const sbx_host *h, sbx_str config, sbx_instance **i, sbx_error *e) {
  trap("create");
  return inner->create(h, config, i, e);
}

const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) {
  trap("entry");
  void *image = dlopen(INNER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!image) {
    snprintf(e->message, sizeof e->message, "%s", dlerror());
    return NULL;
  }
  void *symbol = dlsym(image, "sbx_plugin_entry_v1");
  sbx_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  inner = entry(h, e);
  if (!inner) return NULL;
  outer = *inner;
  outer.role = role;
  outer.create = create;
  return &outer;
}
