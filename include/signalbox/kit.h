/* signalbox/kit.h - helpers for plugins in C or C++: writing JSON, encodings, outcomes and errors. Nothing of it crosses
 * the contract: it is compiled into the plugin, and later versions may change. Since 1.1.
 *
 *   sbx_out out = sbx_out_begin();
 *   sbx_object(&out);
 *   sbx_member(&out, "title", note->title);
 *   sbx_end(&out);
 *   if (out.failed) ...                  // no memory
 *   send((sbx_str){out.bytes, out.length});
 *   sbx_out_free(&out);
 */
#ifndef SIGNALBOX_KIT_H
#define SIGNALBOX_KIT_H
#include "plugin.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MARK: Text */

/* A literal as an sbx_str, also where C wants a constant. */
#ifdef __cplusplus
#define SBX_STR(literal) (sbx_str{literal, sizeof(literal) - 1})
#else
#define SBX_STR(literal) ((sbx_str){literal, sizeof(literal) - 1})
#endif

/* A text of C; NULL is empty. Lifetime: that of `text`. */
static inline sbx_str sbx_text(const char *text) {
  sbx_str out;
  out.ptr = text ? text : "";
  out.len = text ? strlen(text) : 0;
  return out;
}

static inline int sbx_equal(sbx_str one, sbx_str other) {
  return one.len == other.len && (!one.len || !memcmp(one.ptr, other.ptr, one.len));
}

static inline int sbx_is(sbx_str text, const char *word) { return sbx_equal(text, sbx_text(word)); }

static inline int sbx_begins(sbx_str text, const char *word) {
  size_t len = strlen(word);
  return text.len >= len && !memcmp(text.ptr, word, len);
}

/* For secrets: the time depends on the lengths alone. */
static inline int sbx_same_secret(sbx_str one, sbx_str other) {
  unsigned char difference = one.len != other.len;
  for (size_t k = 0; k < one.len && other.len; k++)
    difference |= (unsigned char)(one.ptr[k] ^ other.ptr[k % other.len]);
  return !difference;
}

/* MARK: Results */

/* Writes the message, cut where the contract cuts it, and returns the status: return sbx_fail(error, SBX_E_INVALID, ...). */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline sbx_status sbx_fail(sbx_error *error, sbx_status status, const char *format, ...) {
  va_list arguments;
  if (!error) return status;
  error->status = status;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

/* An outcome SBX_OUTCOME_* of one delivery; its other fields are zero. Lifetime: that of `reason`. */
static inline sbx_outcome sbx_outcome_of(uint64_t item, uint32_t kind, const char *reason) {
  sbx_outcome out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  out.kind = kind;
  out.item = item;
  out.reason = sbx_text(reason);
  return out;
}

/* MARK: Bytes that grow */

/* Owner: who began it, and frees it. After a failure nothing more is written, and `failed` stays set. */
typedef struct sbx_out {
  char *bytes;         /* not terminated by a zero */
  size_t length, capacity;
  int failed;
  int depth;           /* of open objects and arrays */
  int needs_comma;
  uint64_t arrays;     /* bit n: what is open at depth n is an array */
} sbx_out;

static inline sbx_out sbx_out_begin(void) {
  sbx_out out;
  memset(&out, 0, sizeof out);
  return out;
}

static inline void sbx_out_free(sbx_out *out) {
  free(out->bytes);
  *out = sbx_out_begin();
}

/* Begins anew, with the memory that there is. */
static inline void sbx_out_reset(sbx_out *out) {
  char *bytes = out->bytes;
  size_t capacity = out->capacity;
  *out = sbx_out_begin();
  out->bytes = bytes;
  out->capacity = capacity;
}

static inline sbx_str sbx_out_text(const sbx_out *out) {
  sbx_str text;
  text.ptr = out->bytes ? out->bytes : "";
  text.len = out->length;
  return text;
}

static inline void sbx_put(sbx_out *out, const char *bytes, size_t count) {
  if (out->failed || !count) return;
  if (count > out->capacity - out->length) {
    size_t capacity = out->capacity ? out->capacity : 256;
    while (capacity - out->length < count && capacity <= SIZE_MAX / 2) capacity *= 2;
    char *grown = capacity - out->length < count ? NULL : (char *)realloc(out->bytes, capacity);
    if (!grown) {
      out->failed = 1;
      return;
    }
    out->bytes = grown;
    out->capacity = capacity;
  }
  memcpy(out->bytes + out->length, bytes, count);
  out->length += count;
}

static inline void sbx_put_text(sbx_out *out, const char *text) { sbx_put(out, text, strlen(text)); }

/* MARK: Encodings */

static inline void sbx_put_hex(sbx_out *out, sbx_str bytes) {
  static const char digits[] = "0123456789abcdef";
  for (size_t k = 0; k < bytes.len; k++) {
    unsigned char byte = (unsigned char)bytes.ptr[k];
    char pair[2] = {digits[byte >> 4], digits[byte & 15]};
    sbx_put(out, pair, 2);
  }
}

static inline void sbx_put_base64_of(sbx_out *out, sbx_str bytes, const char *last, int is_padded) {
  static const char common[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  for (size_t k = 0; k < bytes.len; k += 3) {
    size_t left = bytes.len - k < 3 ? bytes.len - k : 3;
    uint32_t bits = 0;
    char four[4] = {'=', '=', '=', '='};
    for (size_t n = 0; n < 3; n++) bits = bits << 8 | (n < left ? (unsigned char)bytes.ptr[k + n] : 0);
    for (size_t n = 0; n <= left; n++) {
      uint32_t value = bits >> (18 - 6 * n) & 63;
      four[n] = value < 62 ? common[value] : last[value - 62];
    }
    sbx_put(out, four, is_padded ? 4 : left + 1);
  }
}

/* RFC 4648, with padding. */
static inline void sbx_put_base64(sbx_out *out, sbx_str bytes) { sbx_put_base64_of(out, bytes, "+/", 1); }

/* RFC 4648, section 5, without padding: for URLs and JWTs. */
static inline void sbx_put_base64url(sbx_out *out, sbx_str bytes) { sbx_put_base64_of(out, bytes, "-_", 0); }

/* Percent-encodes all but letters, digits, "-._~" and the characters in `kept`, such as "/". */
static inline void sbx_put_percent(sbx_out *out, sbx_str text, const char *kept) {
  static const char digits[] = "0123456789ABCDEF";
  for (size_t k = 0; k < text.len; k++) {
    unsigned char byte = (unsigned char)text.ptr[k];
    int is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (is_plain || (byte && (strchr("-._~", byte) || strchr(kept, byte)))) {
      sbx_put(out, text.ptr + k, 1);
    } else {
      char three[3] = {'%', digits[byte >> 4], digits[byte & 15]};
      sbx_put(out, three, 3);
    }
  }
}

/* MARK: JSON */

/* Length of the UTF-8 sequence at the beginning of `bytes`; 0: it is none. */
static inline size_t sbx_utf8_length(const unsigned char *bytes, size_t left) {
  unsigned char first = bytes[0];
  size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : (first & 0xF0) == 0xE0 ? 3
                  : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (!length || length > left) return 0;
  for (size_t k = 1; k < length; k++)
    if ((bytes[k] & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && bytes[1] < 0xA0) return 0;  /* overlong */
  if (first == 0xED && bytes[1] > 0x9F) return 0;  /* a surrogate */
  if (first == 0xF0 && bytes[1] < 0x90) return 0;  /* overlong */
  if (first == 0xF4 && bytes[1] > 0x8F) return 0;  /* beyond U+10FFFF */
  return length;
}

/* The inside of a JSON string: escaped, and U+FFFD in place of what is not UTF-8. */
static inline void sbx_put_escaped(sbx_out *out, sbx_str text) {
  const unsigned char *bytes = (const unsigned char *)text.ptr;
  for (size_t k = 0; k < text.len;) {
    unsigned char byte = bytes[k];
    size_t length = sbx_utf8_length(bytes + k, text.len - k);
    if (byte == '"' || byte == '\\') {
      char pair[2] = {'\\', (char)byte};
      sbx_put(out, pair, 2);
    } else if (byte < 0x20) {
      const char *at = byte ? strchr("\bb\ff\nn\rr\tt", byte) : NULL;
      char code[7];
      if (at) {
        snprintf(code, sizeof code, "\\%c", at[1]);
      } else {
        snprintf(code, sizeof code, "\\u%04x", (unsigned)byte);
      }
      sbx_put_text(out, code);
    } else if (length) {
      sbx_put(out, text.ptr + k, length);
    } else {
      sbx_put_text(out, "\xEF\xBF\xBD");
    }
    k += length ? length : 1;
  }
}

static inline void sbx_separate(sbx_out *out) {
  if (out->needs_comma) sbx_put_text(out, ",");
  out->needs_comma = 0;
}

static inline void sbx_open_json(sbx_out *out, const char *bracket, int is_array) {
  sbx_separate(out);
  sbx_put_text(out, bracket);
  if (++out->depth > 63) {
    out->failed = 1;
    return;
  }
  out->arrays = is_array ? out->arrays | UINT64_C(1) << out->depth : out->arrays & ~(UINT64_C(1) << out->depth);
}

/* Begins an object or an array; sbx_end() ends what was begun last. At most 63 are open. */
static inline void sbx_object(sbx_out *out) { sbx_open_json(out, "{", 0); }
static inline void sbx_array(sbx_out *out) { sbx_open_json(out, "[", 1); }

static inline void sbx_end(sbx_out *out) {
  if (out->depth <= 0 || out->depth > 63) {
    out->failed = 1;
    return;
  }
  sbx_put_text(out, out->arrays >> out->depth & 1 ? "]" : "}");
  out->depth--;
  out->needs_comma = 1;
}

/* The name of a member; its value comes next. */
static inline void sbx_key(sbx_out *out, const char *name) {
  sbx_separate(out);
  sbx_put_text(out, "\"");
  sbx_put_escaped(out, sbx_text(name));
  sbx_put_text(out, "\":");
}

/* Text that is JSON already. */
static inline void sbx_raw(sbx_out *out, sbx_str json) {
  sbx_separate(out);
  sbx_put(out, json.ptr, json.len);
  out->needs_comma = 1;
}

static inline void sbx_string(sbx_out *out, sbx_str text) {
  sbx_separate(out);
  sbx_put_text(out, "\"");
  sbx_put_escaped(out, text);
  sbx_put_text(out, "\"");
  out->needs_comma = 1;
}

static inline void sbx_integer(sbx_out *out, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  sbx_raw(out, sbx_text(text));
}

static inline void sbx_boolean(sbx_out *out, int is_true) { sbx_raw(out, sbx_text(is_true ? "true" : "false")); }
static inline void sbx_null(sbx_out *out) { sbx_raw(out, sbx_text("null")); }

/* A member with a text; none if it is empty. */
static inline void sbx_member(sbx_out *out, const char *name, sbx_str text) {
  if (!text.len) return;
  sbx_key(out, name);
  sbx_string(out, text);
}

#ifdef __cplusplus
}
#endif
#endif
