#include "check.h"
#include <string.h>

#define IS(text) (name_length == sizeof(text) - 1 && memcmp(name, text, sizeof(text) - 1) == 0)
#define EQUALS(text) (length == sizeof(text) - 1 && memcmp(value, text, sizeof(text) - 1) == 0)
#define TOPIC "com.example.app"
#define PREFIX "/3/device/"

static int digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static bool hex(const uint8_t *text, size_t count, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < count; i++) {
    int d = digit(text[i]);
    if (d < 0) return false;
    *value = *value << 4 | (uint64_t)d;
  }
  return true;
}

/* A token has 64 hexadecimal digits: 16 for a time, 32 arbitrary ones, 16 for its number. */
static bool path(struct push *push, const uint8_t *value, size_t length) {
  uint64_t middle;
  if (length != sizeof(PREFIX) - 1 + 64 || memcmp(value, PREFIX, sizeof(PREFIX) - 1) != 0) return false;
  const uint8_t *token = value + sizeof(PREFIX) - 1;
  return hex(token, 16, &push->sent_ns) && hex(token + 16, 16, &middle) && hex(token + 32, 16, &middle) &&
         hex(token + 48, 16, &push->number);
}

/* Accepts the app or one of its numbered siblings. */
static bool topic(const uint8_t *value, size_t length) {
  size_t count = sizeof(TOPIC) - 1;
  if (length < count || memcmp(value, TOPIC, count) != 0) return false;
  for (size_t i = count; i < length; i++) {
    if (value[i] < '0' || value[i] > '9') return false;
  }
  return true;
}

void check_field(struct push *push, const uint8_t *name, size_t name_length, const uint8_t *value, size_t length) {
  if (IS(":path")) push->has_path = path(push, value, length);
  else if (IS(":method")) push->is_post = EQUALS("POST");
  else if (IS("apns-topic")) push->has_topic = topic(value, length);
  else if (IS("apns-push-type")) push->has_type = EQUALS("alert");
  else if (IS("authorization")) push->has_authorization = length > 100 && memcmp(value, "bearer ey", 9) == 0;
}

/* Braces outside of strings must match, and nothing may follow the last one. */
void check_body(struct push *push, const uint8_t *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    uint8_t c = bytes[i];
    if (push->is_text) {
      if (push->is_escaped) push->is_escaped = false;
      else if (c == '\\') push->is_escaped = true;
      else if (c == '"') push->is_text = false;
    } else if (c == '"') {
      push->is_text = true;
    } else if (c == '{') {
      if (push->body_bytes + i == 0) push->is_braced = true;
      else if (push->depth == 0) push->is_braced = false;
      push->depth++;
    } else if (c == '}') {
      push->depth--;
    }
  }
  push->body_bytes += length;
}

const char *check_end(const struct push *push) {
  if (!push->is_post) return "the method is not POST";
  if (!push->has_path) return "the path is not /3/device/ and 64 hexadecimal digits";
  if (!push->has_topic) return "apns-topic is not " TOPIC " or that with a number";
  if (!push->has_type) return "apns-push-type is not alert";
  if (!push->has_authorization) return "authorization is no bearer token";
  if (!push->is_braced || push->depth != 0 || push->is_text) return "the body is no JSON object";
  return NULL;
}
