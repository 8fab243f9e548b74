#include "CSimdjson.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <simdjson.h>
#include <string>
#include <type_traits>

namespace dom = simdjson::dom;

// A value is passed as the two words of a dom::element.
static_assert(sizeof(dom::element) == sizeof(csj_value), "simdjson changed its element");
static_assert(std::is_trivially_copyable<dom::element>::value, "simdjson changed its element");
static_assert(sizeof(dom::array::iterator) <= 16, "simdjson changed its iterator");

struct csj_parser {
  dom::parser parser;
};

namespace {

dom::element element(csj_value value) {
  dom::element out;
  std::memcpy(static_cast<void *>(&out), &value, sizeof out);
  return out;
}

csj_value plain(const dom::element &value) {
  csj_value out;
  std::memcpy(&out, static_cast<const void *>(&value), sizeof out);
  return out;
}

template <typename Iterator> void store(const Iterator &iterator, uint64_t *words) {
  static_assert(std::is_trivially_copyable<Iterator>::value, "simdjson changed its iterator");
  std::memcpy(words, static_cast<const void *>(&iterator), sizeof iterator);
}

// An iterator at the position that store() saved. It is built from bytes, because simdjson's
// default iterator must not be created without a document.
template <typename Iterator> struct Restored {
  alignas(Iterator) unsigned char bytes[sizeof(Iterator)];
  explicit Restored(const uint64_t *words) { std::memcpy(bytes, words, sizeof bytes); }
  Iterator &operator*() { return *reinterpret_cast<Iterator *>(bytes); }
};

// The part of a tape word without its type.
size_t payload(uint64_t word) { return word & 0x00FFFFFFFFFFFFFF; }

const char *words(simdjson::error_code code) {
  switch (code) {
  case simdjson::DEPTH_ERROR: return "it is nested too deeply";
  case simdjson::STRING_ERROR: return "a string is malformed";
  case simdjson::UTF8_ERROR: return "it is not valid UTF-8";
  case simdjson::NUMBER_ERROR: return "a number is malformed or too large";
  case simdjson::UNCLOSED_STRING: return "a string is not closed";
  case simdjson::UNESCAPED_CHARS: return "a string holds a control character that is not escaped";
  case simdjson::EMPTY: return "it is empty";
  case simdjson::CAPACITY: return "it is too large";
  case simdjson::MEMALLOC: return "there is no memory for it";
  default: return "its syntax is wrong";
  }
}

// The value of the four hexadecimal digits of an escape, or 0.
unsigned escaped(const char *digits, const char *end) {
  unsigned value = 0;
  if (end - digits < 4) return 0;
  for (int k = 0; k < 4; k++) {
    char c = digits[k];
    unsigned digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 16;
    if (digit == 16) return 0;
    value = value << 4 | digit;
  }
  return value;
}

// Makes `text` the JSON with U+FFFD for each half of a surrogate pair that stands alone, as parsers in other languages
// have it: senders cut texts in the middle of an emoji, and the rest of the message is sound. Whether there was one.
bool without_half_pairs(const char *bytes, size_t length, std::string &text) {
  bool found = false;
  text.assign(bytes, length);
  char *end = text.data() + length;
  for (char *at = text.data(); at + 1 < end; at++) {
    if (*at != '\\') continue;
    at++;  // What a backslash escapes begins no escape of its own.
    if (*at != 'u') continue;
    unsigned first = escaped(at + 1, end);
    if (first < 0xD800 || first > 0xDFFF) continue;
    if (first < 0xDC00 && end - at >= 11 && at[5] == '\\' && at[6] == 'u') {
      unsigned second = escaped(at + 7, end);
      if (second >= 0xDC00 && second <= 0xDFFF) {
        at += 10;
        continue;
      }
    }
    std::memcpy(at + 1, "FFFD", 4);
    found = true;
  }
  return found;
}

}  // namespace

extern "C" {

csj_parser *csj_parser_new(void) { return new (std::nothrow) csj_parser; }

void csj_parser_free(csj_parser *parser) { delete parser; }

int csj_parse(csj_parser *parser, const char *bytes, size_t length, size_t depth_max, csj_value *root,
              const char **fault) {
  try {
    // An empty buffer may have no address, which memcpy() inside simdjson must not get.
    if (length == 0) bytes = "";
    // Skips a byte order mark, as RFC 8259 permits.
    if (length >= 3 && std::memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) bytes += 3, length -= 3;
    if (parser->parser.capacity() < length || parser->parser.max_depth() != depth_max) {
      // The extra level admits documents of exactly depth_max levels.
      auto code = parser->parser.allocate(length < 1024 ? 1024 : length, depth_max);
      if (code) {
        *fault = words(code);
        return -1;
      }
    }
    dom::element value;
    auto code = parser->parser.parse(bytes, length).get(value);
    bool is_mended = false;
    if (code == simdjson::STRING_ERROR) {
      std::string whole;
      is_mended = without_half_pairs(bytes, length, whole);
      if (is_mended) code = parser->parser.parse(whole).get(value);
    }
    if (code) {
      *fault = words(code);
      return -1;
    }
    *root = plain(value);
    return is_mended ? 1 : 0;
  } catch (...) {
    *fault = "there is no memory for it";
    return -1;
  }
}

const void *csj_keep(csj_value root) {
  auto *from = static_cast<const dom::document *>(root.document);
  const uint64_t *tape = from->tape.get();
  const uint8_t *strings = from->string_buf.get();
  // The first word says where the tape ends. The strings follow in tape order, each with its length
  // before it and a zero after it.
  size_t words = payload(tape[0]);
  size_t bytes = 0;
  for (size_t place = 1; place < words; place++) {
    switch (tape[place] >> 56) {
    case '"': {
      uint32_t length;
      std::memcpy(&length, strings + payload(tape[place]), sizeof length);
      bytes = payload(tape[place]) + sizeof length + length + 1;
      break;
    }
    case 'l':
    case 'u':
    case 'd': place++;  // The number itself.
    }
  }
  size_t head = sizeof(dom::document), numbers = words * sizeof(uint64_t);
  auto *room = static_cast<unsigned char *>(std::malloc(head + numbers + bytes));
  if (room == nullptr) return nullptr;
  std::memcpy(room + head, tape, numbers);
  if (bytes > 0) std::memcpy(room + head + numbers, strings, bytes);
  // The destructor never runs: everything it points to is in the same block of memory.
  auto *kept = new (room) dom::document;
  kept->tape.reset(reinterpret_cast<uint64_t *>(room + head));
  kept->string_buf.reset(room + head + numbers);
  return kept;
}

void csj_release(const void *document) { std::free(const_cast<void *>(document)); }

uint32_t csj_kind(csj_value value) {
  switch (element(value).type()) {
  case dom::element_type::BOOL: return CSJ_BOOLEAN;
  case dom::element_type::INT64: return CSJ_INTEGER;
  case dom::element_type::UINT64: return CSJ_NUMBER;
  case dom::element_type::DOUBLE: return CSJ_NUMBER;
  case dom::element_type::STRING: return CSJ_STRING;
  case dom::element_type::ARRAY: return CSJ_ARRAY;
  case dom::element_type::OBJECT: return CSJ_OBJECT;
  default: return CSJ_NULL;
  }
}

int csj_string(csj_value value, const char **bytes, size_t *length) {
  std::string_view text;
  if (element(value).get_string().get(text)) return -1;
  *bytes = text.data();
  *length = text.size();
  return 0;
}

int csj_integer(csj_value value, int64_t *out) { return element(value).get_int64().get(*out) ? -1 : 0; }

int csj_boolean(csj_value value, uint32_t *out) {
  bool flag;
  if (element(value).get_bool().get(flag)) return -1;
  *out = flag ? 1 : 0;
  return 0;
}

int csj_at(csj_value value, const char *pointer, size_t length, csj_value *out) {
  try {
    dom::element found;
    if (length == 0) {
      *out = value;
      return 0;
    }
    if (element(value).at_pointer(std::string_view(pointer, length)).get(found)) return -1;
    *out = plain(found);
    return 0;
  } catch (...) {
    return -1;
  }
}

int csj_member(csj_value value, const char *name, size_t length, csj_value *out) {
  dom::object object;
  dom::element found;
  if (element(value).get_object().get(object)) return -1;
  if (object.at_key(std::string_view(name, length)).get(found)) return -1;
  *out = plain(found);
  return 0;
}

int csj_element(csj_value value, size_t index, csj_value *out) {
  dom::array array;
  dom::element found;
  if (element(value).get_array().get(array) || array.at(index).get(found)) return -1;
  *out = plain(found);
  return 0;
}

uint64_t csj_count(csj_value value) {
  dom::array array;
  if (!element(value).get_array().get(array)) {
    uint64_t count = 0;
    for (auto it = array.begin(); it != array.end(); ++it) count++;
    return count;
  }
  dom::object object;
  if (!element(value).get_object().get(object)) {
    uint64_t count = 0;
    for (auto it = object.begin(); it != object.end(); ++it) count++;
    return count;
  }
  return 0;
}

// state[0..1] is the iterator (a document and a place on its tape), state[2] the place of the end,
// state[3] whether members have names. These are plain words, so a cursor can be copied freely.
int csj_first(csj_value value, csj_cursor *cursor) {
  dom::array array;
  if (!element(value).get_array().get(array)) {
    auto it = array.begin();
    auto end = array.end();
    store(it, &cursor->state[0]);
    uint64_t last[2];
    store(end, last);
    cursor->state[2] = last[1];
    cursor->state[3] = 0;
    return 0;
  }
  dom::object object;
  if (!element(value).get_object().get(object)) {
    auto it = object.begin();
    auto end = object.end();
    store(it, &cursor->state[0]);
    uint64_t last[2];
    store(end, last);
    cursor->state[2] = last[1];
    cursor->state[3] = 1;
    return 0;
  }
  return -1;
}

int csj_next(csj_cursor *cursor, const char **key, size_t *key_length, csj_value *value) {
  if (cursor->state[0] == 0 || cursor->state[1] == cursor->state[2]) return -1;
  if (cursor->state[3] == 0) {
    Restored<dom::array::iterator> restored(&cursor->state[0]);
    auto &it = *restored;
    *key = nullptr;
    *key_length = 0;
    *value = plain(*it);
    ++it;
    store(it, &cursor->state[0]);
    return 0;
  }
  Restored<dom::object::iterator> restored(&cursor->state[0]);
  auto &it = *restored;
  std::string_view name = it.key();
  *key = name.data();
  *key_length = name.size();
  *value = plain(it.value());
  ++it;
  store(it, &cursor->state[0]);
  return 0;
}

int csj_text(csj_value value, const char **bytes, size_t *length) {
  static thread_local std::string text;
  try {
    text = simdjson::minify(element(value));
    *bytes = text.data();
    *length = text.size();
    return 0;
  } catch (...) {
    return -1;
  }
}

}
