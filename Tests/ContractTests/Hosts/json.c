/* sbx.json/1 on the text itself: a value is a document and the offset where it begins. */
#include "host.h"

struct document {
  char *text;
  size_t len;
};

static size_t blank(const struct document *d, size_t at) {
  while (at < d->len && strchr(" \t\r\n", d->text[at])) at++;
  return at;
}

static size_t skip_string(const struct document *d, size_t at) {
  for (at++; at < d->len && d->text[at] != '"'; at++)
    if (d->text[at] == '\\') at++;
  return at < d->len ? at + 1 : 0;
}

/* The offset after a value, or 0 if it is malformed. */
static size_t skip(const struct document *d, size_t at, unsigned depth) {
  if (at >= d->len || depth > 64) return 0;
  char open = d->text[at];
  if (open == '"') return skip_string(d, at);
  if (open == '{' || open == '[') {
    char close = open == '{' ? '}' : ']';
    at = blank(d, at + 1);
    if (at < d->len && d->text[at] == close) return at + 1;
    while (at < d->len) {
      if (open == '{') {
        if (d->text[at] != '"' || !(at = skip_string(d, at))) return 0;
        at = blank(d, at);
        if (at >= d->len || d->text[at] != ':') return 0;
        at = blank(d, at + 1);
      }
      if (!(at = skip(d, at, depth + 1))) return 0;
      at = blank(d, at);
      if (at < d->len && d->text[at] == close) return at + 1;
      if (at >= d->len || d->text[at] != ',') return 0;
      at = blank(d, at + 1);
    }
    return 0;
  }
  size_t end = at;
  while (end < d->len && !strchr(" \t\r\n,]}:", d->text[end])) end++;
  return end > at ? end : 0;
}

static const struct document *of(sbx_json_value v) { return v.document; }

static sbx_status parse(const sbx_host *host, sbx_str text, sbx_json_value *root, sbx_error *error) {
  (void)host;
  struct document *d = malloc(sizeof *d);
  if (!d) die("no memory");
  *d = (struct document){malloc(text.len + 1), text.len};
  if (!d->text) die("no memory");
  if (text.len) memcpy(d->text, text.ptr, text.len);
  d->text[text.len] = 0;
  size_t start = blank(d, 0), end = skip(d, start, 0);
  if (end == 0 || blank(d, end) != d->len) {
    error->status = SBX_E_INVALID;
    snprintf(error->message, sizeof error->message, "not JSON");
    return SBX_E_INVALID;
  }
  *root = (sbx_json_value){d, start};
  return SBX_OK;
}

static uint32_t kind(sbx_json_value v) {
  const struct document *d = of(v);
  switch (d->text[v.position]) {
  case 'n': return SBX_JSON_NULL;
  case 't': case 'f': return SBX_JSON_BOOLEAN;
  case '"': return SBX_JSON_STRING;
  case '[': return SBX_JSON_ARRAY;
  case '{': return SBX_JSON_OBJECT;
  }
  for (size_t i = v.position; i < skip(d, v.position, 0); i++)
    if (strchr(".eE", d->text[i])) return SBX_JSON_NUMBER;
  return SBX_JSON_INTEGER;
}

/* Resolves all escapes but \uXXXX. The tests send none; if one appears, the run ends with an error. */
static sbx_status string(sbx_json_value v, sbx_str *out) {
  if (kind(v) != SBX_JSON_STRING) return SBX_E_INVALID;
  const struct document *d = of(v);
  size_t end = skip_string(d, v.position) - 1, n = 0;
  char *room = malloc(end - v.position);
  if (!room) die("no memory");
  for (size_t i = v.position + 1; i < end; i++) {
    char c = d->text[i];
    if (c == '\\') {
      c = d->text[++i];
      const char *from = "nrtbf", *to = "\n\r\t\b\f", *found = strchr(from, c);
      if (c == 'u') die("json.c knows no \\u");
      if (found) c = to[found - from];
    }
    room[n++] = c;
  }
  *out = (sbx_str){room, n};
  return SBX_OK;
}

static sbx_status integer(sbx_json_value v, int64_t *out) {
  if (kind(v) != SBX_JSON_INTEGER) return SBX_E_INVALID;
  *out = strtoll(of(v)->text + v.position, NULL, 10);
  return SBX_OK;
}

static sbx_status boolean(sbx_json_value v, uint32_t *out) {
  if (kind(v) != SBX_JSON_BOOLEAN) return SBX_E_INVALID;
  *out = of(v)->text[v.position] == 't';
  return SBX_OK;
}

static sbx_status text(sbx_json_value v, sbx_str *out) {
  const struct document *d = of(v);
  size_t end = skip(d, v.position, 0), n = 0;
  char *room = malloc(end - v.position);
  int quoted = 0;
  if (!room) die("no memory");
  for (size_t i = v.position; i < end; i++) {
    char c = d->text[i];
    if (c == '"' && (i == v.position || d->text[i - 1] != '\\')) quoted = !quoted;
    if (quoted || !strchr(" \t\r\n", c)) room[n++] = c;
  }
  *out = (sbx_str){room, n};
  return SBX_OK;
}

/* An iteration: document, offset of the next element, closing bracket. */
static sbx_status first(sbx_json_value v, sbx_json_cursor *c) {
  char open = of(v)->text[v.position];
  if (open != '{' && open != '[') return SBX_E_INVALID;
  *c = (sbx_json_cursor){{(uint64_t)(uintptr_t)v.document, blank(of(v), v.position + 1), open == '{', 0}};
  return SBX_OK;
}

static sbx_status next(sbx_json_cursor *c, sbx_str *key, sbx_json_value *value) {
  const struct document *d = (const void *)(uintptr_t)c->state[0];
  size_t at = c->state[1];
  if (d->text[at] == ']' || d->text[at] == '}') return SBX_E_NOT_FOUND;
  if (key) *key = (sbx_str){NULL, 0};
  if (c->state[2]) {
    if (key) string((sbx_json_value){d, at}, key);
    at = blank(d, blank(d, skip_string(d, at)) + 1);
  }
  *value = (sbx_json_value){d, at};
  at = blank(d, skip(d, at, 0));
  c->state[1] = d->text[at] == ',' ? blank(d, at + 1) : at;
  return SBX_OK;
}

static uint64_t count(sbx_json_value v) {
  sbx_json_cursor c;
  uint64_t n = 0;
  if (first(v, &c) != SBX_OK) return 0;
  while (next(&c, NULL, &v) == SBX_OK) n++;
  return n;
}

/* Pointers of plain member names: "/notification/title". */
static sbx_status at(sbx_json_value v, sbx_str pointer, sbx_json_value *out) {
  size_t i = 0;
  while (i < pointer.len) {
    sbx_json_cursor c;
    sbx_str key;
    size_t start = ++i;
    while (i < pointer.len && pointer.ptr[i] != '/') i++;
    if (kind(v) != SBX_JSON_OBJECT || first(v, &c) != SBX_OK) return SBX_E_NOT_FOUND;
    do {
      if (next(&c, &key, &v) != SBX_OK) return SBX_E_NOT_FOUND;
    } while (key.len != i - start || memcmp(key.ptr, pointer.ptr + start, key.len) != 0);
  }
  *out = v;
  return SBX_OK;
}

const void *json_service(void) {
  TABLE(sbx_json, .parse = parse, .at = at, .kind = kind, .string = string, .integer = integer, .boolean = boolean,
        .text = text, .count = count, .first = first, .next = next);
}
