/* simdjson.c - the JSON shim itself: a copy of a document and a walk through it. */
#include "fuzz.h"

#include "../../Sources/CLibraries/CSimdjson/include/CSimdjson.h"

/* Reads every value; how many there are. */
static uint64_t walk(csj_value value) {
  csj_cursor cursor;
  csj_value inner;
  const char *bytes;
  size_t length;
  int64_t number;
  uint32_t flag;
  uint64_t count = 1, elements = 0;
  switch (csj_kind(value)) {
    case CSJ_STRING: REQUIRE(!csj_string(value, &bytes, &length), "a string without text"); break;
    case CSJ_INTEGER: REQUIRE(!csj_integer(value, &number), "an integer without value"); break;
    case CSJ_BOOLEAN: REQUIRE(!csj_boolean(value, &flag) && flag <= 1, "a boolean without value"); break;
  }
  if (csj_first(value, &cursor)) return count;
  while (!csj_next(&cursor, &bytes, &length, &inner)) {
    csj_value found;
    if (csj_kind(value) == CSJ_OBJECT) REQUIRE(!csj_member(value, bytes, length, &found), "a member is not found");
    count += walk(inner);
    elements++;
  }
  REQUIRE(elements == csj_count(value), "another count");
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static csj_parser *parser;
  const char *fault = NULL, *text;
  size_t length;
  csj_value root;
  if (!parser) parser = csj_parser_new();
  int status = csj_parse(parser, (const char *)data, size, 64, &root, &fault);
  if (status < 0) {
    REQUIRE(fault && *fault, "a fault without words");
    return 0;
  }
  uint64_t count = walk(root);
  csj_value kept = {csj_keep(root), root.position};
  REQUIRE(!csj_text(root, &text, &length), "no text");
  char *first = malloc(length + 1);
  size_t first_length = length;
  memcpy(first, text, length);
  /* The copy needs nothing of the parser. */
  csj_parser_free(parser);
  parser = csj_parser_new();
  REQUIRE(walk(kept) == count, "the copy has other values");
  REQUIRE(!csj_text(kept, &text, &length) && length == first_length && !memcmp(text, first, length), "another text");
  free(first);
  csj_release(kept.document);
  return 0;
}
