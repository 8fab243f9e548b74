/* bus_events.c - see bus_events.h. */
#include "bus_events.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

static bool is_at(const sbx_json *json, sbx_json_value object, const char *pointer, sbx_json_value *out) {
  return json->at(object, (sbx_str){pointer, strlen(pointer)}, out) == SBX_OK;
}

static sbx_str text_of(const sbx_json *json, sbx_json_value object, const char *pointer) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (is_at(json, object, pointer, &value)) json->string(value, &text);
  return text;
}

/* MARK: The map */

static char *copy_of(const sbx_json *json, sbx_json_value object, const char *pointer) {
  sbx_str text = text_of(json, object, pointer);
  return strndup(text.len ? text.ptr : "", text.len);
}

sbx_status bus_map_read(const sbx_json *json, sbx_json_value config, bus_map *map) {
  map->type = copy_of(json, config, "/map/type");
  map->subject = copy_of(json, config, "/map/subject");
  map->user = copy_of(json, config, "/map/user");
  map->app = copy_of(json, config, "/map/app");
  map->id = copy_of(json, config, "/map/id");
  return map->type && map->subject && map->user && map->app && map->id ? SBX_OK : SBX_E_INTERNAL;
}

void bus_map_free(bus_map *map) {
  free(map->type);
  free(map->subject);
  free(map->user);
  free(map->app);
  free(map->id);
}

/* What a rule of the map stands for in a body. A number counts as its text. */
static sbx_str mapped(const sbx_json *json, sbx_json_value body, const char *rule) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (rule[0] != '/') return (sbx_str){rule, strlen(rule)};
  if (!is_at(json, body, rule, &value)) return text;
  uint32_t kind = json->kind(value);
  if (kind == SBX_JSON_STRING) json->string(value, &text);
  else if (kind == SBX_JSON_INTEGER || kind == SBX_JSON_NUMBER) json->text(value, &text);
  return text;
}

static const char *allocate(bus_parts *parts, uint64_t count) {
  parts->devices = calloc(count + 1, sizeof *parts->devices);
  parts->recipients = calloc(count + 1, sizeof *parts->recipients);
  return parts->devices && parts->recipients ? NULL : "there is no memory";
}

static void add(bus_parts *parts, sbx_event *event, sbx_device device) {
  size_t n = event->recipient_count++;
  parts->devices[n] = device;
  parts->recipients[n] = (sbx_recipient){.struct_size = sizeof(sbx_recipient), .device = &parts->devices[n]};
  event->recipients = parts->recipients;
  event->recipient_stride = sizeof *parts->recipients;
}

static const char *read_mapped(const sbx_json *json, const bus_map *map, sbx_json_value body, sbx_event *event,
                               bus_parts *parts) {
  event->type = mapped(json, body, map->type);
  if (!event->type.len) return "map.type points at no text";
  if (map->subject[0]) event->subject = mapped(json, body, map->subject);
  if (map->id[0]) event->dedupe = mapped(json, body, map->id);
  json->text(body, &event->data);
  if (!map->user[0]) return NULL;
  sbx_str user = mapped(json, body, map->user);
  if (!user.len) return "map.user points at no text";
  const char *why = allocate(parts, 1);
  if (why) return why;
  add(parts, event, (sbx_device){.struct_size = sizeof(sbx_device), .user = user, .app = mapped(json, body, map->app)});
  return NULL;
}

/* MARK: The members of an event */

static bool is_one_of(sbx_str key, const char *const *names) {
  for (; *names; names++)
    if (strlen(*names) == key.len && !memcmp(*names, key.ptr, key.len)) return true;
  return false;
}

/* Whether a name may be in a log: what looks like a value may be private. */
static bool is_plain_name(sbx_str key) {
  for (size_t k = 0; k < key.len; k++)
    if (!isalnum((unsigned char)key.ptr[k]) && !strchr("_-.", key.ptr[k])) return false;
  return key.len > 0 && key.len <= 40;
}

/* A member with a typing error would be ignored, and the push go to nobody. NULL, or what is wrong. */
static const char *other_member(const sbx_json *json, sbx_json_value object, const char *const *names, const char *owner,
                                const char *known, bus_parts *parts) {
  sbx_json_cursor cursor;
  sbx_json_value value;
  sbx_str key;
  if (json->first(object, &cursor) != SBX_OK) return NULL;
  while (json->next(&cursor, &key, &value) == SBX_OK) {
    if (is_one_of(key, names)) continue;
    bool is_plain = is_plain_name(key);
    snprintf(parts->why, sizeof parts->why, "%s has the unknown member \"%.*s\"; known: %s", owner,
             is_plain ? (int)key.len : 3, is_plain ? key.ptr : "...", known);
    return parts->why;
  }
  return NULL;
}

static const char *const event_names[] = {"type", "subject", "data", "dedupe", "time_unix_ms", "recipients", NULL};
static const char *const recipient_names[] = {"user", "token", "app", "platform", "provider", "locale", NULL};

/* A recipient; NULL, or why nothing can reach it. */
static const char *read_recipient(const sbx_json *json, sbx_json_value one, sbx_device *device, bus_parts *parts) {
  if (json->kind(one) != SBX_JSON_OBJECT) return "a recipient is not an object";
  const char *why =
      other_member(json, one, recipient_names, "a recipient", "user, token, app, platform, provider and locale", parts);
  if (why) return why;
  sbx_device found = {.struct_size = sizeof found, .app = text_of(json, one, "/app"),
                      .platform = text_of(json, one, "/platform"), .provider = text_of(json, one, "/provider"),
                      .token = text_of(json, one, "/token"), .user = text_of(json, one, "/user"),
                      .locale = text_of(json, one, "/locale")};
  if (found.token.len && !found.platform.len) return "a recipient has a token and no platform";
  if (!found.user.len && !found.token.len) return "a recipient has neither user nor token";
  *device = found;
  return NULL;
}

/* Who gets it: users of the registry, or devices. One that cannot be used is a device without a token, which each
 * route leaves out and counts; the message is refused if there is no other. */
static const char *read_recipients(const sbx_json *json, sbx_json_value body, sbx_event *event, bus_parts *parts) {
  sbx_json_value list, one;
  sbx_json_cursor cursor;
  sbx_str key;
  if (!is_at(json, body, "/recipients", &list)) return NULL;
  if (json->kind(list) != SBX_JSON_ARRAY) return "recipients is not an array";
  uint64_t count = json->count(list);
  if (count > BUS_RECIPIENTS_MAX) return "it has more than 10,000 recipients";
  const char *why = allocate(parts, count);
  if (why) return why;
  uint64_t usable = 0;
  json->first(list, &cursor);
  while (event->recipient_count < count && json->next(&cursor, &key, &one) == SBX_OK) {
    sbx_device device = {.struct_size = sizeof device};
    const char *fault = read_recipient(json, one, &device, parts);
    if (fault) why = fault;
    else usable++;
    add(parts, event, device);
  }
  return count > 0 && !usable ? why : NULL;
}

static const char *read_members(const sbx_json *json, sbx_json_value body, sbx_event *event, bus_parts *parts) {
  sbx_json_value value;
  int64_t time = 0;
  const char *why = other_member(json, body, event_names, "it",
                                 "type, subject, data, dedupe, time_unix_ms and recipients; "
                                 "set map for messages of another shape", parts);
  if (why) return why;
  event->type = text_of(json, body, "/type");
  event->subject = text_of(json, body, "/subject");
  event->dedupe = text_of(json, body, "/dedupe");
  if (!event->type.len) return "it has no type";
  if (is_at(json, body, "/data", &value)) {
    if (json->kind(value) != SBX_JSON_OBJECT) return "data is not an object";
    json->text(value, &event->data);
  }
  if (is_at(json, body, "/time_unix_ms", &value) && !json->integer(value, &time) && time > 0)
    event->time_unix_ms = (uint64_t)time;
  return read_recipients(json, body, event, parts);
}

const char *bus_event_read(const sbx_host *host, const sbx_json *json, const bus_map *map, sbx_str text,
                           sbx_event *event, bus_parts *parts) {
  sbx_json_value body;
  *event = (sbx_event){.struct_size = sizeof *event, .dedupe_window_ms = BUS_DEDUPE_MS};
  if (json->parse(host, text, &body, NULL) != SBX_OK || json->kind(body) != SBX_JSON_OBJECT)
    return "it is not a JSON object";
  return map->type[0] ? read_mapped(json, map, body, event, parts) : read_members(json, body, event, parts);
}

void bus_parts_free(bus_parts *parts) {
  free(parts->devices);
  free(parts->recipients);
}
