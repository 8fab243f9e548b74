/* smtp_reply.c - what a server answers: lines until a reply is whole, and as many replies as the input holds. */
#include "fuzz.h"

#include "../../Plugins/SMTP/errors.c"

static void judge(const smtp_reply *reply) {
  REQUIRE(reply->code >= 200 && reply->code <= 599, "a code beyond its range");
  REQUIRE(reply->subject <= 999 && reply->detail <= 999, "a status beyond its range");
  for (unsigned stage = SMTP_AT_GREETING; stage <= SMTP_AT_END; stage *= 2) {
    smtp_verdict verdict = smtp_judge((smtp_stage)stage, reply);
    REQUIRE(verdict.reason && verdict.reason[0], "no reason");
    REQUIRE(memchr(verdict.detail, 0, sizeof verdict.detail), "the detail has no end");
    REQUIRE(verdict.code == reply->code, "another code");
    REQUIRE(verdict.kind != SBX_OUTCOME_DELIVERED, "a refusal delivers");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *next = (const char *)data, *end = next + size;
  smtp_reply reply = {0};
  while (next < end) {
    const char *line = next, *stop = memchr(next, '\n', (size_t)(end - next));
    next = stop ? stop + 1 : end;
    if (!smtp_reply_add(&reply, line, (size_t)(next - line))) break;
    if (!reply.is_whole) continue;
    judge(&reply);
    reply = (smtp_reply){0};
  }
  return 0;
}
