/* kit.c - the writer of JSON of signalbox/kit.h: what it writes of any text is JSON that gives the text back. */
#include "fuzz.h"

#include <signalbox/kit.h>

#include "json_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  size_t middle = data[0] % (size - 1) + 1;
  sbx_str one = {(const char *)data + 1, middle - 1}, other = {(const char *)data + middle, size - middle};
  sbx_out out = sbx_out_begin();
  sbx_object(&out);
  sbx_member(&out, "one", one);
  sbx_key(&out, "list");
  sbx_array(&out);
  sbx_string(&out, other);
  sbx_integer(&out, (int64_t)size);
  sbx_boolean(&out, data[0] & 1);
  sbx_null(&out);
  sbx_end(&out);
  sbx_end(&out);
  sbx_json_value root, value;
  sbx_str text = sbx_out_text(&out), read;
  int64_t number = 0;
  REQUIRE(text.len && json_parse(NULL, text, &root, NULL) == SBX_OK, "it is not JSON");
  REQUIRE(json_at(root, SBX_STR("/list/1"), &value) == SBX_OK && json_integer(value, &number) == SBX_OK, "no number");
  REQUIRE(number == (int64_t)size, "another number");
  /* Whatever is UTF-8 comes back as it was. */
  int is_utf8 = 1;
  for (size_t k = 0; k < one.len && is_utf8;) {
    size_t length = sbx_utf8_length((const unsigned char *)one.ptr + k, one.len - k);
    REQUIRE(length <= one.len - k, "a character beyond the end");
    if (!length) is_utf8 = 0;
    k += length;
  }
  /* An empty text is no member. */
  REQUIRE((json_at(root, SBX_STR("/one"), &value) == SBX_OK) == (one.len > 0), "no member, or an empty one");
  if (one.len) {
    REQUIRE(json_string(value, &read) == SBX_OK, "no text");
    if (is_utf8) REQUIRE(sbx_equal(one, read), "another text");
  }
  sbx_out_reset(&out);
  sbx_put_hex(&out, one);
  REQUIRE(sbx_out_text(&out).len == 2 * one.len, "another hex");
  sbx_out_reset(&out);
  sbx_put_base64(&out, one);
  REQUIRE(sbx_out_text(&out).len == (one.len + 2) / 3 * 4, "another base64");
  sbx_out_reset(&out);
  sbx_put_percent(&out, one, "-._~");
  for (size_t k = 0; k < sbx_out_text(&out).len; k++) {
    unsigned char c = (unsigned char)sbx_out_text(&out).ptr[k];
    REQUIRE(c > ' ' && c < 0x7F, "a character that needs an escape");
  }
  sbx_out_free(&out);
  return 0;
}
