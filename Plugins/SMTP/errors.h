/* errors.h - maps the server's answer, or its absence, to the outcome of a delivery. */
#ifndef SMTP_ERRORS_H
#define SMTP_ERRORS_H
#include <signalbox/kit.h>
#include <stdbool.h>

/* The command that the server answered. Bits, so that a rule can name several. */
typedef enum smtp_stage {
  SMTP_AT_GREETING = 1, SMTP_AT_EHLO = 2, SMTP_AT_STARTTLS = 4, SMTP_AT_AUTH = 8,
  SMTP_AT_MAIL = 16, SMTP_AT_RCPT = 32, SMTP_AT_DATA = 64, SMTP_AT_END = 128,
} smtp_stage;

/* A reply: its code and its enhanced status (RFC 3463), if it has one of the same class. */
typedef struct smtp_reply {
  unsigned code, subject, detail;
  size_t bytes;
  bool is_enhanced, is_whole;
} smtp_reply;

/* Adds a line of a reply, with or without its end. False if it is malformed, or the reply over 64 KiB long. */
bool smtp_reply_add(smtp_reply *reply, const char *line, size_t len);

/* The outcome for a delivery. `reason` is from the closed list in README.md; `detail` has stage and
 * codes, never the server's text, which repeats addresses. */
typedef struct smtp_verdict {
  uint32_t kind, scope;
  uint64_t retry_after_ms;
  unsigned code;
  const char *reason;
  char detail[80];
} smtp_verdict;

#define SMTP_IS_OK(verdict) ((verdict).kind == SBX_OUTCOME_DELIVERED)

/* The verdict for a refusal (4xx, 5xx), or for an unexpected reply. */
smtp_verdict smtp_judge(smtp_stage stage, const smtp_reply *reply);

/* A verdict without a reply. */
smtp_verdict smtp_decide(uint32_t kind, uint32_t scope, const char *reason, const char *detail);

#endif
