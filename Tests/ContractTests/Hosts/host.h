/* host.h - a host in plain C, compiled against one version of the contract. It loads a plugin,
 * passes events, notifications, requests and outcomes through its roles, and prints all of them. */
#ifndef HOST_H
#define HOST_H
#include "../Plugins/Contract/next.h"
#include <stdio.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})
#define ARG(s) (int)(s).len, (s).len ? (s).ptr : ""
#define ITEMS_MAX 32
#define NOW_MS 1700000000000u

/* Copies the part of a plugin's struct that both sides know; the rest is zero. */
#define TAKE(type, var, p) \
  type var; \
  SEE(p); \
  take(&var, sizeof var, p, (p)->struct_size)

/* The instance under test. */
struct run {
  const sbx_plugin *plugin;
  sbx_instance *instance;
  sbx_host *host;
};

/* memory.c: memory for a plugin ends where readable memory ends, and is gone after the call. */
void *edge(size_t bytes);
void *edge_for_good(size_t bytes);
void edge_release(void);
sbx_str edge_text(sbx_str text);
sbx_error *edge_error(void);
sbx_str keep(sbx_str text);
const sbx_kv *keep_pairs(const sbx_kv *pairs, size_t n);
void take(void *to, size_t bytes, const void *from, uint32_t size);
#define EDGE(type, n) ((type *)edge((n) * sizeof(type)))

/* How far this host's structs reach. A host that plays an older one ends them before a field. */
#ifdef OLDER
#define SIZE_OF(type, last) offsetof(type, last)
#else
#define SIZE_OF(type, last) sizeof(type)
#endif
void *edge_copy(const void *from, size_t bytes);

/* services.c, json.c, credential.c, deliver.c */
sbx_host *make_host(const char *instance);
const void *json_service(void);
const void *sign_service(void);
const void *credential_service(void);
const void *send_host_service(void);
void refresh_credentials(struct run *run);

/* The body of a function that returns a service's table, placed at the end of its memory. */
#define TABLE(type, ...) \
  static type *table; \
  if (!table) { \
    table = edge_for_good(sizeof *table); \
    *table = (type){.struct_size = sizeof *table, __VA_ARGS__}; \
    FUTURE(table); \
  } \
  return table

/* print.c */
void die(const char *words);
void print_fault(const char *what, sbx_status status, const sbx_error *error);
void print_pairs(const char *name, const sbx_kv *pairs, size_t n);
void print_device(const char *what, const sbx_device *device);
void print_outcomes(const sbx_outcome *outcomes, size_t n, size_t stride);

/* Copies of what passes from role to role. */
struct event {
  sbx_event raw;
  sbx_device devices[ITEMS_MAX];
  sbx_recipient recipients[ITEMS_MAX];
};
extern struct event events[ITEMS_MAX];
extern size_t event_count;

struct delivery {
  const sbx_notification *note;
  const sbx_device *device;
  uint32_t flags;
  int32_t badge;
};
extern struct delivery deliveries[ITEMS_MAX];
extern size_t delivery_count;

/* The kept data as structs for a plugin: a device, and the deliveries from `first` on. */
const sbx_device *edge_device(const sbx_device *kept);
const sbx_delivery *edge_deliveries(size_t first);

/* ingest.c, build.c, translate.c, deliver.c */
void show_paths(struct run *run);
void ingest(struct run *run, const char *path, const char *pattern, const char *headers, const char *body);
void build(struct run *run);
void send_all(struct run *run);
void deliver_all(struct run *run);
void report_all(struct run *run);

#endif
