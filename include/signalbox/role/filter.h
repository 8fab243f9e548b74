/* signalbox/role/filter.h - between a route and its builder: leaves recipients out, changes an event's
 * data, has pushes wait until a time, or treats recipients differently. Since 1.1. */
#ifndef SIGNALBOX_ROLE_FILTER_H
#define SIGNALBOX_ROLE_FILTER_H
#include "../model.h"

typedef struct sbx_filter_input {
  uint32_t struct_size, reserved;
  const sbx_event *event;           /* its recipients are empty here; see below */
  sbx_str route, instance;          /* the route's name; the instance that emitted the event */
  sbx_str options;                  /* this filter's options in the route as JSON, "{}" if none */
  const sbx_recipient *recipients;  /* each with a token; users are resolved; only those whom the route can send to */
  size_t recipient_count, recipient_stride;
  uint64_t now_unix_ms;             /* the host's clock, in Unix milliseconds: take no other */
} sbx_filter_input;

/* Recipients that go on together. */
typedef struct sbx_filter_part {
  uint32_t struct_size, reserved;
  const uint32_t *recipients;       /* indexes into the input's recipients */
  size_t recipient_count;
  sbx_str data;                     /* a JSON object that the next filters, the builder and the route's templates read in
                                       place of the event's; empty: unchanged. At most 1 MiB, and 4 MiB in one call */
  uint64_t not_before_unix_ms;      /* their pushes wait on disk until then, and expire so much later; 0 or a time that is
                                       over: they do not wait. At most 30 days after now_unix_ms */
} sbx_filter_part;

/* Owner: the host. Lifetime: during filter() only. It copies what it is given. */
typedef struct sbx_filter_sink {
  uint32_t struct_size, reserved;
  void *state;
  /* These go on, with other data or later. A recipient that is named by no call goes on as it is.
   * Statuses: OK; INVALID (an index is out of range or was named before, data is not a JSON object, over 30 days);
   * TOO_LARGE. Nothing of a refused call is taken. Since 1.1. */
  sbx_status (*pass)(struct sbx_filter_sink *sink, const sbx_filter_part *part);
  /* These get nothing on this route: "quiet hours", "capped"; reasons are from a closed list of the plugin.
   * Statuses: OK; INVALID (an index is out of range or was named before). Since 1.1. */
  sbx_status (*drop)(struct sbx_filter_sink *sink, const uint32_t *recipients, size_t n, sbx_str reason);
} sbx_filter_sink;

#define SBX_ROLE_FILTER "sbx.role.filter/1"
typedef struct sbx_filter {
  uint32_t struct_size, reserved;
  const char *options_schema;  /* JSON Schema of a filter's options in a route, or NULL: takes none */
  /* One event with all its recipients on one route. Pure: same input, same output; no services but log, json and the clock's
   * utc_offset().
   * It runs before the event is stored, and the source waits for its answer: return within milliseconds.
   * A failing status fails the event on this route with error->message: a filter that cannot decide lets it go on.
   * Statuses: OK, INVALID, UNSUPPORTED, INTERNAL. Thread: [worker]. State: [started]. Since 1.1. */
  sbx_status (*filter)(sbx_instance *instance, const sbx_filter_input *input, sbx_filter_sink *sink, sbx_error *error);
} sbx_filter;

#endif
