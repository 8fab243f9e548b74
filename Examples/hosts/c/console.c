/* A sender that is linked into the program: it prints notifications instead of pushing them. */
#include "console.h"
#include <stdio.h>
#include <stdlib.h>

struct sbx_instance {
  const sbx_host *host;
  const sbx_send_host *out;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **instance, sbx_error *error) {
  (void)config, (void)error;
  sbx_instance *i = malloc(sizeof *i);
  if (!i) return SBX_E_INTERNAL;
  *i = (sbx_instance){host, host->service(host, SBX_SVC_SEND_HOST)};
  *instance = i;
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                         size_t *taken, sbx_error *error) {
  (void)app, (void)error;
  for (size_t k = 0; k < n; k++) {
    const sbx_delivery *d = SBX_AT(sbx_delivery, deliveries, k, stride);
    sbx_str title = d->notification->title, user = d->device->user;
    printf("to %.*s: %.*s\n", (int)user.len, user.ptr, (int)title.len, title.ptr);
    sbx_outcome done = {.struct_size = sizeof done, .kind = SBX_OUTCOME_DELIVERED, .item = d->id,
                        .reason = {"printed", 7}};
    i->out->complete(i->host, &done, 1, sizeof done);
  }
  *taken = n;
  return SBX_OK;
}

static const sbx_send sender = {sizeof sender, 0, submit};
static const void *role(const char *id) { return (void)id, &sender; }
static const char *const roles[] = {SBX_ROLE_SEND, NULL}, *const needs[] = {SBX_SVC_SEND_HOST, NULL};
static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.console", "1.0.0",
                                  "prints notifications", roles, needs, NULL, create, role, NULL, NULL, destroy};

const sbx_plugin *console_entry(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
