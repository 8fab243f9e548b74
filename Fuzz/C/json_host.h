/* json_host.h - sbx.json/1 for targets in C, by the same library as the gateway's. */
#ifndef JSON_HOST_H
#define JSON_HOST_H
#include <signalbox/plugin.h>

#include "../../Sources/CLibraries/CSimdjson/include/CSimdjson.h"

static csj_parser *json_parser;

static csj_value csj(sbx_json_value v) { return (csj_value){v.document, v.position}; }

static sbx_status json_parse(const sbx_host *host, sbx_str text, sbx_json_value *root, sbx_error *error) {
  const char *fault = NULL;
  csj_value out;
  (void)host, (void)error;
  if (!json_parser) json_parser = csj_parser_new();
  if (csj_parse(json_parser, text.ptr, text.len, 64, &out, &fault) < 0) return SBX_E_INVALID;
  *root = (sbx_json_value){out.document, out.position};
  return SBX_OK;
}

static sbx_status json_at(sbx_json_value value, sbx_str pointer, sbx_json_value *out) {
  csj_value found;
  if (csj_at(csj(value), pointer.ptr, pointer.len, &found)) return SBX_E_NOT_FOUND;
  *out = (sbx_json_value){found.document, found.position};
  return SBX_OK;
}

static uint32_t json_kind(sbx_json_value value) { return csj_kind(csj(value)); }

static sbx_status json_string(sbx_json_value value, sbx_str *out) {
  return csj_string(csj(value), &out->ptr, &out->len) ? SBX_E_INVALID : SBX_OK;
}

static sbx_status json_integer(sbx_json_value value, int64_t *out) {
  return csj_integer(csj(value), out) ? SBX_E_INVALID : SBX_OK;
}

static sbx_status json_text(sbx_json_value value, sbx_str *out) {
  return csj_text(csj(value), &out->ptr, &out->len) ? SBX_E_INTERNAL : SBX_OK;
}

static uint64_t json_count(sbx_json_value value) { return csj_count(csj(value)); }

static sbx_status json_first(sbx_json_value value, sbx_json_cursor *cursor) {
  return csj_first(csj(value), (csj_cursor *)(void *)cursor) ? SBX_E_INVALID : SBX_OK;
}

static sbx_status json_next(sbx_json_cursor *cursor, sbx_str *key, sbx_json_value *value) {
  csj_value found;
  if (csj_next((csj_cursor *)(void *)cursor, &key->ptr, &key->len, &found)) return SBX_E_NOT_FOUND;
  *value = (sbx_json_value){found.document, found.position};
  return SBX_OK;
}

static const sbx_json json_table = {
  .struct_size = sizeof(sbx_json), .parse = json_parse, .at = json_at, .kind = json_kind, .string = json_string,
  .integer = json_integer, .text = json_text, .count = json_count, .first = json_first, .next = json_next,
};

#endif
