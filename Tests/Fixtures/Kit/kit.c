/* The vectors of signalbox/kit.h. Prints what is wrong, and exits with 1. Also compiled as C++. */
#include <signalbox/kit.h>

static int faults;

static void same(const char *what, sbx_str found, const char *wanted, size_t count) {
  if (found.len == count && !memcmp(found.ptr, wanted, count)) return;
  printf("%s: \"%.*s\" instead of \"%.*s\"\n", what, (int)found.len, found.ptr, (int)count, wanted);
  faults++;
}

static void text(const char *what, sbx_out *out, const char *wanted) {
  same(what, sbx_out_text(out), wanted, strlen(wanted));
  if (out->failed) printf("%s: it failed\n", what), faults++;
  sbx_out_free(out);
}

static sbx_str bytes(const char *start, size_t count) {
  sbx_str out;
  out.ptr = start;
  out.len = count;
  return out;
}

static void encodings(void) {
  /* RFC 4648, section 10. */
  static const char *const vectors[][3] = {{"", "", ""}, {"f", "Zg==", "66"}, {"fo", "Zm8=", "666f"},
    {"foo", "Zm9v", "666f6f"}, {"foob", "Zm9vYg==", "666f6f62"}, {"fooba", "Zm9vYmE=", "666f6f6261"},
    {"foobar", "Zm9vYmFy", "666f6f626172"}};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    sbx_out out = sbx_out_begin();
    sbx_put_base64(&out, sbx_text(vectors[k][0]));
    text("base64", &out, vectors[k][1]);
    sbx_put_hex(&out, sbx_text(vectors[k][0]));
    text("hex", &out, vectors[k][2]);
  }
  sbx_out out = sbx_out_begin();
  sbx_put_base64url(&out, bytes("\xfb\xff\xfe", 3));
  text("base64url", &out, "-__-");
  sbx_put_base64(&out, bytes("\xfb\xff\xfe", 3));
  text("base64", &out, "+//+");
  sbx_put_base64url(&out, bytes("\0\xff", 2));
  text("base64url without padding", &out, "AP8");
  sbx_put_percent(&out, bytes("a/b c%\0\xc3\xbc~", 10), "/");
  text("percent", &out, "a/b%20c%25%00%C3%BC~");
  sbx_put_percent(&out, sbx_text("a/b"), "");
  text("percent of all", &out, "a%2Fb");
}

static void json(void) {
  sbx_out out = sbx_out_begin();
  sbx_object(&out);
  sbx_member(&out, "empty", sbx_text(""));
  sbx_key(&out, "a\"b");
  sbx_array(&out);
  sbx_integer(&out, INT64_MIN);
  sbx_boolean(&out, 1);
  sbx_null(&out);
  sbx_object(&out);
  sbx_end(&out);
  sbx_string(&out, sbx_text(""));
  sbx_raw(&out, sbx_text("1.50"));
  sbx_array(&out);
  sbx_end(&out);
  sbx_end(&out);
  sbx_member(&out, "t", sbx_text("\"\\/\b\f\n\r\t\x01\x1f\x7f"));
  sbx_end(&out);
  text("nesting", &out,
       "{\"a\\\"b\":[-9223372036854775808,true,null,{},\"\",1.50,[]],\"t\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"}");
  /* Of each kind: valid, cut, overlong, a surrogate, too high, a byte that never comes. */
  static const char *const cases[][2] = {{"\xc3\xbc", "\xc3\xbc"}, {"\xe2\x82\xac", "\xe2\x82\xac"},
    {"\xf0\x9f\x93\xa6", "\xf0\x9f\x93\xa6"}, {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, {"\xc3", "?"}, {"\xe2\x82", "??"},
    {"\xf0\x9f\x93", "???"}, {"\xc0\x80", "??"}, {"\xe0\x80\x80", "???"}, {"\xed\xa0\x80", "???"},
    {"\xf0\x80\x80\x80", "????"}, {"\xf4\x90\x80\x80", "????"}, {"\xff", "?"}, {"\x80", "?"}, {"\xc3\"", "?\\\""}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sbx_out wanted = sbx_out_begin();
    for (const char *at = cases[k][1]; *at; at++) {
      if (*at == '?') sbx_put_text(&wanted, "\xEF\xBF\xBD");
      else sbx_put(&wanted, at, 1);
    }
    sbx_put_escaped(&out, sbx_text(cases[k][0]));
    same("UTF-8", sbx_out_text(&out), wanted.bytes, wanted.length);
    sbx_out_free(&out);
    sbx_out_free(&wanted);
  }
  sbx_put_escaped(&out, bytes("\0", 1));
  text("a zero", &out, "\\u0000");
  for (int k = 0; k < 70; k++) sbx_array(&out);
  if (!out.failed) printf("70 levels are taken\n"), faults++;
  sbx_out_free(&out);
  sbx_end(&out);
  if (!out.failed) printf("an end without a beginning is taken\n"), faults++;
  sbx_out_free(&out);
}

static void rest(void) {
  sbx_out out = sbx_out_begin();
  for (int k = 0; k < 100000; k++) sbx_put_text(&out, "0123456789");
  if (out.failed || out.length != 1000000 || memcmp(out.bytes + 999990, "0123456789", 10)) printf("growth\n"), faults++;
  sbx_out_reset(&out);
  sbx_put_text(&out, "new");
  text("reset", &out, "new");
  sbx_error error;
  memset(&error, 0, sizeof error);
  char longer[600];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  if (sbx_fail(&error, SBX_E_INVALID, "%s %d", longer, 7) != SBX_E_INVALID || error.status != SBX_E_INVALID ||
      strlen(error.message) != sizeof error.message - 1)
    printf("fail\n"), faults++;
  if (sbx_fail(NULL, SBX_E_AGAIN, "x") != SBX_E_AGAIN) printf("fail without an error\n"), faults++;
  sbx_outcome outcome = sbx_outcome_of(9, SBX_OUTCOME_DELIVERED, "ok");
  if (outcome.struct_size != sizeof outcome || outcome.item != 9 || outcome.kind != SBX_OUTCOME_DELIVERED ||
      !sbx_is(outcome.reason, "ok"))
    printf("outcome\n"), faults++;
  if (!sbx_begins(sbx_text("https://a"), "https://") || sbx_begins(sbx_text("http"), "https") || !sbx_is(sbx_text(NULL), "") ||
      sbx_equal(sbx_text("a"), sbx_text("b")))
    printf("texts\n"), faults++;
  if (!sbx_same_secret(sbx_text("abc"), sbx_text("abc")) || sbx_same_secret(sbx_text("abc"), sbx_text("abd")) ||
      sbx_same_secret(sbx_text("abc"), sbx_text("ab")) || sbx_same_secret(sbx_text(""), sbx_text("a")) ||
      !sbx_same_secret(sbx_text(""), sbx_text("")))
    printf("secrets\n"), faults++;
}

int main(void) {
  encodings();
  json();
  rest();
  return faults ? 1 : 0;
}
