/* signalbox/role/build.h - an event and its recipients in, neutral notifications out. */
#ifndef SIGNALBOX_ROLE_BUILD_H
#define SIGNALBOX_ROLE_BUILD_H
#include "../model.h"

typedef struct sbx_build_input {
  uint32_t struct_size, reserved;
  const sbx_event *event;           /* its recipients are empty here; see below */
  sbx_str route, instance;          /* the route's name; the instance that emitted the event */
  sbx_str options;                  /* the route's build.options as JSON, "{}" if none */
  const sbx_recipient *recipients;  /* each with a token; users are resolved */
  size_t recipient_count, recipient_stride;
} sbx_build_input;

/* Which recipient gets a content, and the recipient's own badge. */
#define SBX_T_BADGE 1u
typedef struct sbx_target {
  uint32_t struct_size, flags;  /* SBX_T_* */
  uint32_t recipient;           /* index into recipients */
  int32_t badge;                /* with SBX_T_BADGE: wins over the notification's */
} sbx_target;

/* Owner: the host. Lifetime: during build() only. It copies what it is given. */
typedef struct sbx_build_sink {
  uint32_t struct_size, reserved;
  void *state;
  /* This content goes to these recipients. Emit a content once for all who share it: it is rendered
   * once. A recipient may get several. The host then applies the route's build.set and
   * build.overrides. Statuses: OK, INVALID (an index is out of range, data is not a JSON object). Since 1.0. */
  sbx_status (*emit)(struct sbx_build_sink *sink, const sbx_notification *notification,
                     const sbx_target *targets, size_t n, size_t stride);
  /* Skipped on purpose: "sender", "muted", "online", "system message"; from a closed list of the
   * plugin. Recipients named nowhere count as skipped with reason "unnamed".
   * Statuses: OK, INVALID. Since 1.0. */
  sbx_status (*skip)(struct sbx_build_sink *sink, uint32_t recipient, sbx_str reason);
} sbx_build_sink;

#define SBX_ROLE_BUILD "sbx.role.build/1"
typedef struct sbx_build {
  uint32_t struct_size, reserved;
  const char *options_schema;  /* JSON Schema of build.options in a route, or NULL: takes none */
  /* Pure: same input, same output; no services but log and json. A failing status fails the event's
   * deliveries on this route with error->message.
   * Statuses: OK, INVALID, UNSUPPORTED, INTERNAL. Thread: [worker]. State: [started]. Since 1.0. */
  sbx_status (*build)(sbx_instance *instance, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error);
} sbx_build;

#endif
