/* smtp_reply.c - what a server answers: greeting, EHLO and later replies, as many as the input holds. The first
 * byte says whether the first is that of EHLO. */
#include "fuzz.h"

#include "../../Plugins/SMTP/dialogue.c"
#include "../../Plugins/SMTP/errors.c"

static const uint8_t *next, *end;

/* The link's bytes are the input's. */
smtp_io smtp_link_read(smtp_link *link, char *byte, uint64_t deadline_ns) {
  (void)link, (void)deadline_ns;
  if (next == end) return SMTP_IO_LOST;
  *byte = (char)*next++;
  return SMTP_IO_OK;
}
smtp_io smtp_link_write(smtp_link *link, const char *bytes, size_t len, uint64_t deadline_ns) {
  (void)link, (void)bytes, (void)len, (void)deadline_ns;
  return SMTP_IO_OK;
}
uint64_t smtp_now_ns(void) { return 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static smtp_session session;
  if (!size) return 0;
  next = data + 1, end = data + size;
  session.offers = 0, session.size_max = 0;
  for (bool is_ehlo = data[0] & 1; next < end; is_ehlo = false) {
    smtp_io io = smtp_read_reply(&session, is_ehlo, 0);
    REQUIRE(io == SMTP_IO_OK || io == SMTP_IO_LOST || io == SMTP_IO_SENSELESS, "an unknown end");
    if (io != SMTP_IO_OK) break;
    REQUIRE(session.reply.code >= 200 && session.reply.code <= 599, "a code beyond its range");
    REQUIRE(session.reply.subject <= 999 && session.reply.detail <= 999, "a status beyond its range");
    for (unsigned stage = SMTP_AT_GREETING; stage <= SMTP_AT_END; stage *= 2) {
      smtp_verdict verdict = smtp_judge((smtp_stage)stage, &session.reply);
      REQUIRE(verdict.reason && verdict.reason[0], "no reason");
      REQUIRE(memchr(verdict.detail, 0, sizeof verdict.detail), "the detail has no end");
      REQUIRE(verdict.code == session.reply.code, "another code");
      REQUIRE(verdict.kind != SBX_OUTCOME_DELIVERED, "a refusal delivers");
    }
  }
  return 0;
}
