/* errors.c - replies, and what they mean. */
#include "errors.h"

enum { ANY = 0, NONE = -1, THROTTLE_MS = 60000, LOGIN_MS = 30000, REPLY_MAX = 65536 };

#define SETUP (SMTP_AT_GREETING | SMTP_AT_EHLO)
#define CONTENT (SMTP_AT_DATA | SMTP_AT_END)
#define ADDRESSEE (SMTP_AT_RCPT | CONTENT)

/* The first matching rule decides. Rules with a subject match the enhanced status, where `detail` NONE is
 * every detail of the subject; those with NONE as subject match only the reply code. */
static const struct rule {
  uint16_t stages, code;
  int16_t class, subject, detail;
  uint16_t kind, scope;
  uint32_t retry_after_ms;
  const char *reason;
} rules[] = {
  /* Server shutdown, and rate limits. */
  {ANY, 421, 4, 7, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_INSTANCE, THROTTLE_MS, "throttled"},
  {ANY, 421, 4, NONE, NONE, SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, 0, "server_unavailable"},
  /* Login. */
  {ANY, 530, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "authentication_required"},
  {SMTP_AT_AUTH, ANY, 5, 7, 8, SBX_OUTCOME_AUTH, SBX_SCOPE_INSTANCE, LOGIN_MS, "credentials_refused"},
  {SMTP_AT_AUTH, 535, 5, NONE, NONE, SBX_OUTCOME_AUTH, SBX_SCOPE_INSTANCE, LOGIN_MS, "credentials_refused"},
  {SMTP_AT_AUTH, ANY, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "login_refused"},
  {SMTP_AT_AUTH, ANY, 4, NONE, NONE, SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, 0, "login_unavailable"},
  {SMTP_AT_STARTTLS, ANY, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "tls_refused"},
  {SMTP_AT_STARTTLS, ANY, 4, NONE, NONE, SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, 0, "tls_refused"},
  {SETUP, ANY, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "client_refused"},
  {SETUP, ANY, 4, 7, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_INSTANCE, THROTTLE_MS, "throttled"},
  {SETUP, ANY, 4, NONE, NONE, SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, 0, "server_unavailable"},
  /* The recipient. */
  {ADDRESSEE, ANY, 5, 1, 1, SBX_OUTCOME_UNREGISTERED, SBX_SCOPE_ITEM, 0, "mailbox_unknown"},
  {ADDRESSEE, ANY, 5, 1, 2, SBX_OUTCOME_UNREGISTERED, SBX_SCOPE_ITEM, 0, "domain_unknown"},
  {ADDRESSEE, ANY, 5, 1, 6, SBX_OUTCOME_UNREGISTERED, SBX_SCOPE_ITEM, 0, "mailbox_moved"},
  {ADDRESSEE, ANY, 5, 1, 10, SBX_OUTCOME_UNREGISTERED, SBX_SCOPE_ITEM, 0, "domain_takes_no_mail"},
  {ADDRESSEE, 556, 5, NONE, NONE, SBX_OUTCOME_UNREGISTERED, SBX_SCOPE_ITEM, 0, "domain_takes_no_mail"},
  {ADDRESSEE, ANY, 5, 1, 3, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "address_refused"},
  {ADDRESSEE, ANY, 5, 2, 1, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "mailbox_disabled"},
  {ADDRESSEE, ANY, 5, 2, 2, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "mailbox_full"},
  {ADDRESSEE, ANY, 4, 2, 2, SBX_OUTCOME_THROTTLED, SBX_SCOPE_ITEM, THROTTLE_MS, "mailbox_full"},
  /* The sender. */
  {ANY, ANY, 5, 1, 7, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "sender_refused"},
  {ANY, ANY, 5, 1, 8, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "sender_refused"},
  /* The message. */
  {ANY, ANY, 5, 2, 3, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "message_too_large"},
  {ANY, ANY, 5, 3, 4, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "message_too_large"},
  {ANY, ANY, 5, 6, 7, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "smtputf8_unsupported"},
  {ANY, ANY, 5, 6, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "content_refused"},
  /* Policy: at MAIL it concerns the sender, and so all deliveries; otherwise this message. */
  {SMTP_AT_MAIL, ANY, 4, 7, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_INSTANCE, THROTTLE_MS, "throttled"},
  {SMTP_AT_MAIL, ANY, 5, 7, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "sender_refused"},
  {ANY, ANY, 4, 7, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_ITEM, THROTTLE_MS, "throttled"},
  {ANY, ANY, 5, 7, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "policy"},
  {ANY, ANY, 4, 5, 3, SBX_OUTCOME_THROTTLED, SBX_SCOPE_ITEM, THROTTLE_MS, "throttled"},
  /* Reply codes without an enhanced status. */
  {SMTP_AT_MAIL, 452, 4, NONE, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_INSTANCE, THROTTLE_MS, "server_full"},
  {ANY, 452, 4, NONE, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_ITEM, THROTTLE_MS, "server_full"},
  {SMTP_AT_RCPT, 450, 4, NONE, NONE, SBX_OUTCOME_THROTTLED, SBX_SCOPE_ITEM, THROTTLE_MS, "mailbox_busy"},
  {ANY, ANY, 4, NONE, NONE, SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, 0, "temporary"},
  {SMTP_AT_MAIL, 550, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "sender_refused"},
  {SMTP_AT_MAIL, 553, 5, NONE, NONE, SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, 0, "sender_refused"},
  {SMTP_AT_RCPT, 501, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "address_refused"},
  {SMTP_AT_RCPT, 553, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "address_refused"},
  {SMTP_AT_RCPT, 552, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "mailbox_full"},
  {SMTP_AT_RCPT, ANY, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "recipient_refused"},
  {ANY, 552, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "message_too_large"},
  {CONTENT, 550, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "content_refused"},
  {CONTENT, 554, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "content_refused"},
  {ANY, ANY, 5, NONE, NONE, SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, 0, "refused"},
};

static bool fits(const struct rule *rule, smtp_stage stage, const smtp_reply *reply) {
  if (rule->stages && !(rule->stages & stage)) return false;
  if (rule->code && rule->code != reply->code) return false;
  if ((unsigned)rule->class != reply->code / 100) return false;
  if (rule->subject == NONE) return true;
  if (!reply->is_enhanced || (unsigned)rule->subject != reply->subject) return false;
  return rule->detail == NONE || (unsigned)rule->detail == reply->detail;
}

static const char *stage_name(smtp_stage stage) {
  switch (stage) {
    case SMTP_AT_GREETING: return "greeting";
    case SMTP_AT_EHLO: return "EHLO";
    case SMTP_AT_STARTTLS: return "STARTTLS";
    case SMTP_AT_AUTH: return "AUTH";
    case SMTP_AT_MAIL: return "MAIL";
    case SMTP_AT_RCPT: return "RCPT";
    case SMTP_AT_DATA: return "DATA";
    case SMTP_AT_END: return "end of data";
  }
  return "";
}

smtp_verdict smtp_decide(uint32_t kind, uint32_t scope, const char *reason, const char *detail) {
  smtp_verdict verdict = {.kind = kind, .scope = scope, .reason = reason};
  snprintf(verdict.detail, sizeof verdict.detail, "%s", detail);
  return verdict;
}

smtp_verdict smtp_judge(smtp_stage stage, const smtp_reply *reply) {
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "protocol", "");
  for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
    if (!fits(&rules[k], stage, reply)) continue;
    verdict.kind = rules[k].kind;
    verdict.scope = rules[k].scope;
    verdict.retry_after_ms = rules[k].retry_after_ms;
    verdict.reason = rules[k].reason;
    break;
  }
  verdict.code = reply->code;
  int len = snprintf(verdict.detail, sizeof verdict.detail, "%s: %u", stage_name(stage), reply->code);
  if (reply->is_enhanced && len > 0)
    snprintf(verdict.detail + len, sizeof verdict.detail - (size_t)len, " %u.%u.%u", reply->code / 100,
             reply->subject, reply->detail);
  return verdict;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* An enhanced status such as "5.1.1", if it has the reply's own class; others are contradictory. */
static void read_enhanced(const char *text, size_t len, smtp_reply *reply) {
  unsigned parts[3] = {0}, digits = 0, part = 0;
  size_t k = 0;
  if (reply->is_enhanced) return;
  for (; k < len; k++) {
    if (is_digit(text[k]) && ++digits <= 3) {
      parts[part] = parts[part] * 10 + (unsigned)(text[k] - '0');
    } else if (text[k] == '.' && digits && part < 2) {
      part++;
      digits = 0;
    } else {
      break;
    }
  }
  if (part < 2 || !digits || digits > 3 || (k < len && text[k] != ' ') || parts[0] != reply->code / 100) return;
  reply->is_enhanced = true;
  reply->subject = parts[1];
  reply->detail = parts[2];
}

bool smtp_reply_add(smtp_reply *reply, const char *line, size_t len) {
  reply->bytes += len;
  while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) len--;
  if (reply->is_whole || reply->bytes > REPLY_MAX || len < 3) return false;
  if (line[0] < '2' || line[0] > '5' || !is_digit(line[1]) || !is_digit(line[2])) return false;
  if (len > 3 && line[3] != ' ' && line[3] != '-') return false;
  unsigned code = (unsigned)(line[0] - '0') * 100 + (unsigned)(line[1] - '0') * 10 + (unsigned)(line[2] - '0');
  if (reply->code && code != reply->code) return false;
  reply->code = code;
  if (len > 4) read_enhanced(line + 4, len - 4, reply);
  reply->is_whole = len == 3 || line[3] == ' ';
  return true;
}
