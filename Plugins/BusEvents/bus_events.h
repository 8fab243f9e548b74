/* bus_events.h - messages of a bus into events; linked into each plugin of a bus.
 *
 * Without a map, a body is a JSON object with the members of an event:
 * {"type", "subject", "data", "dedupe", "time_unix_ms", "recipients": [{"user" | "token", "app", "platform", ...}]}.
 * With a map, any JSON object is an event: it is the data, and the map says where the rest is. */
#ifndef BUS_EVENTS_H
#define BUS_EVENTS_H
#include <signalbox/plugin.h>
#include <stdbool.h>

/* Most recipients of a message. */
#define BUS_RECIPIENTS_MAX 10000
/* How long the key of a message is remembered: it may be delivered again for as long. */
#define BUS_DEDUPE_MS 86400000u

/* Where an event's members are in messages of another shape. A text that begins with "/" is a JSON pointer, any
 * other one the value itself. */
typedef struct bus_map {
  char *type, *subject, *user, *app, *id;  /* empty: not given; type is given if there is a map at all */
} bus_map;

/* The property `map` of a plugin's schema. */
#define BUS_MAP_SCHEMA                                                                                           \
  "\"map\":{\"type\":\"object\",\"required\":[\"type\"],\"properties\":{"                                        \
  "\"type\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":200,"                                             \
  "\"description\":\"a JSON pointer such as /event, or the type itself, such as order.shipped\"},"               \
  "\"subject\":{\"type\":\"string\",\"maxLength\":200,\"default\":\"\",\"description\":\"a JSON pointer\"},"     \
  "\"user\":{\"type\":\"string\",\"format\":\"selector\",\"maxLength\":200,\"default\":\"\","                    \
  "\"description\":\"a JSON pointer to the user, such as /customer/id\"},"                                       \
  "\"app\":{\"type\":\"string\",\"maxLength\":200,\"default\":\"\","                                             \
  "\"description\":\"a JSON pointer, or the app itself; empty: all apps of the user\"},"                         \
  "\"id\":{\"type\":\"string\",\"format\":\"selector\",\"maxLength\":200,\"default\":\"\","                      \
  "\"description\":\"a JSON pointer to what is the same when the message is sent twice\"}}}"

/* What an event points into, next to the parsed body. Zero it. */
typedef struct bus_parts {
  sbx_device *devices;
  sbx_recipient *recipients;
  char key[360];  /* for a dedupe key of the plugin's own */
  char why[200];  /* what bus_event_read() returns, where it names a member */
} bus_parts;

/* Reads `map` of a config. Statuses: OK, INTERNAL (no memory). */
sbx_status bus_map_read(const sbx_json *json, sbx_json_value config, bus_map *map);
void bus_map_free(bus_map *map);

/* Fills *event, all of which points into `body`'s parse, `map` and `parts`. The caller sets `subject`, `dedupe` and
 * `time_unix_ms` if they are empty afterwards. Inside a call or a scope.
 * Returns why it is no event: text for people that lives as long as `parts`; NULL: it is one. */
const char *bus_event_read(const sbx_host *host, const sbx_json *json, const bus_map *map, sbx_str body,
                           sbx_event *event, bus_parts *parts);
void bus_parts_free(bus_parts *parts);

#endif
