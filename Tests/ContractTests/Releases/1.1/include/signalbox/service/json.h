/* signalbox/service/json.h - read access to parsed JSON. Documents and all text read from them live
 * until the role call (or callback) in which they were parsed returns. On a thread of your own: sbx.scope/1. */
#ifndef SIGNALBOX_SERVICE_JSON_H
#define SIGNALBOX_SERVICE_JSON_H
#include "../types.h"
struct sbx_host;

/* A value inside a document. Copy it freely. Its inside is the host's. */
typedef struct sbx_json_value {
  const void *document;
  uint64_t position;
} sbx_json_value;

/* A walk through an array or object. Zero it, or let first() fill it. */
typedef struct sbx_json_cursor {
  uint64_t state[4];
} sbx_json_cursor;

#define SBX_JSON_NULL    0u
#define SBX_JSON_BOOLEAN 1u
#define SBX_JSON_INTEGER 2u
#define SBX_JSON_NUMBER  3u  /* has a fraction, an exponent or more than 64 bits: read it as text */
#define SBX_JSON_STRING  4u
#define SBX_JSON_ARRAY   5u
#define SBX_JSON_OBJECT  6u

#define SBX_SVC_JSON "sbx.json/1"
typedef struct sbx_json {
  uint32_t struct_size, reserved;
  /* Depth at most 64. INVALID: error->message has the fault, never the text.
   * An event's data, a route's options, and a notification's data and overrides are parsed once: in the call in
   * which the host hands them over, parse() of such text returns the host's own parse. Since 1.1.
   * Half a surrogate pair ("\ud83d" alone, of a text cut in the middle of an emoji) reads as U+FFFD. Since 1.1.
   * Statuses: OK, INVALID, TOO_LARGE. Thread: all of this table: the thread of the role call. */
  sbx_status (*parse)(const struct sbx_host *host, sbx_str text, sbx_json_value *root, sbx_error *error);
  /* By RFC 6901 pointer ("/notification/title"; "" is the value itself). Of doubled members the
   * first counts. Statuses: OK, NOT_FOUND. */
  sbx_status (*at)(sbx_json_value value, sbx_str pointer, sbx_json_value *out);
  uint32_t (*kind)(sbx_json_value value);
  /* Statuses of the readers: OK, INVALID (another kind). */
  sbx_status (*string)(sbx_json_value value, sbx_str *out);
  sbx_status (*integer)(sbx_json_value value, int64_t *out);
  sbx_status (*boolean)(sbx_json_value value, uint32_t *out);
  /* The value's JSON text, without spaces. Statuses: OK. */
  sbx_status (*text)(sbx_json_value value, sbx_str *out);
  /* Elements of an array or members of an object; 0 for other kinds. */
  uint64_t (*count)(sbx_json_value value);
  /* Starts a walk. Statuses: OK, INVALID (neither array nor object). */
  sbx_status (*first)(sbx_json_value value, sbx_json_cursor *cursor);
  /* The next element; key is empty in an array. Statuses: OK, NOT_FOUND (the end). */
  sbx_status (*next)(sbx_json_cursor *cursor, sbx_str *key, sbx_json_value *value);
} sbx_json;

#endif
