/* dialogue.c - sends lines and reads replies. */
#include "instance.h"

#include <string.h>
#include <strings.h>

/* Longest reply, in bytes; no server needs more. */
#define REPLY_MAX 65536u

uint64_t smtp_step(const smtp_session *session, unsigned times) {
  uint64_t until = smtp_now_ns() + (uint64_t)session->instance->config.timeout_ms * 1000000u * times;
  return until < session->give_up_ns ? until : session->give_up_ns;
}

/* Reads a line without its end; text that does not fit is dropped. *left is how much may still be read. */
static smtp_io read_line(smtp_session *session, char *line, size_t room, size_t *left, uint64_t deadline_ns) {
  size_t len = 0;
  for (;;) {
    char c;
    if (!*left) return SMTP_IO_SENSELESS;
    smtp_io io = smtp_link_read(&session->link, &c, deadline_ns);
    if (io != SMTP_IO_OK) return io;
    --*left;
    if (c == '\n') break;
    if (len + 1 < room) line[len++] = c ? c : '?';
  }
  if (len && line[len - 1] == '\r') len--;
  line[len] = 0;
  return SMTP_IO_OK;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* An enhanced status such as "5.1.1", if it has the reply's own class; others are contradictory. */
static void read_enhanced(const char *text, smtp_reply *reply) {
  unsigned parts[3] = {0}, digits = 0, part = 0;
  if (reply->is_enhanced) return;
  for (;; text++) {
    if (is_digit(*text) && ++digits <= 3) {
      parts[part] = parts[part] * 10 + (unsigned)(*text - '0');
    } else if (*text == '.' && digits && part < 2) {
      part++;
      digits = 0;
    } else {
      break;
    }
  }
  if (part < 2 || !digits || digits > 3 || (*text && *text != ' ') || parts[0] != reply->code / 100) return;
  reply->is_enhanced = true;
  reply->subject = parts[1];
  reply->detail = parts[2];
}

static bool is_word(const char *text, const char *word, const char **rest) {
  size_t len = strlen(word);
  if (strncasecmp(text, word, len) || (text[len] && text[len] != ' ' && text[len] != '=')) return false;
  *rest = text + len;
  return true;
}

static void read_offer(smtp_session *session, const char *text) {
  const char *rest = "", *word;
  if (is_word(text, "STARTTLS", &rest)) session->offers |= SMTP_HAS_STARTTLS;
  if (is_word(text, "PIPELINING", &rest)) session->offers |= SMTP_HAS_PIPELINING;
  if (is_word(text, "8BITMIME", &rest)) session->offers |= SMTP_HAS_8BITMIME;
  if (is_word(text, "SMTPUTF8", &rest)) session->offers |= SMTP_HAS_SMTPUTF8;
  if (is_word(text, "SIZE", &rest)) {
    session->offers |= SMTP_HAS_SIZE;
    while (*rest == ' ') rest++;
    for (session->size_max = 0; is_digit(*rest) && session->size_max < UINT64_MAX / 100; rest++)
      session->size_max = session->size_max * 10 + (uint64_t)(*rest - '0');
  }
  /* Old servers send AUTH=. */
  if (!is_word(text, "AUTH", &rest)) return;
  while (*rest) {
    while (*rest == ' ' || *rest == '=') rest++;
    if (is_word(rest, "PLAIN", &word)) session->offers |= SMTP_HAS_AUTH_PLAIN;
    if (is_word(rest, "LOGIN", &word)) session->offers |= SMTP_HAS_AUTH_LOGIN;
    while (*rest && *rest != ' ') rest++;
  }
}

smtp_io smtp_read_reply(smtp_session *session, bool is_ehlo, uint64_t deadline_ns) {
  char line[1024];
  size_t left = REPLY_MAX;
  session->reply = (smtp_reply){0};
  if (is_ehlo) session->offers = 0, session->size_max = 0;
  for (bool is_first = true;; is_first = false) {
    smtp_io io = read_line(session, line, sizeof line, &left, deadline_ns);
    if (io != SMTP_IO_OK) return io;
    if (line[0] < '2' || line[0] > '5' || !is_digit(line[1]) || !is_digit(line[2])) return SMTP_IO_SENSELESS;
    if (line[3] && line[3] != ' ' && line[3] != '-') return SMTP_IO_SENSELESS;
    unsigned code = (unsigned)(line[0] - '0') * 100 + (unsigned)(line[1] - '0') * 10 + (unsigned)(line[2] - '0');
    if (!is_first && code != session->reply.code) return SMTP_IO_SENSELESS;
    session->reply.code = code;
    if (line[3]) read_enhanced(line + 4, &session->reply);
    if (line[3] && is_ehlo && !is_first && code == 250) read_offer(session, line + 4);
    if (line[3] != '-') return SMTP_IO_OK;
  }
}

smtp_io smtp_exchange(smtp_session *session, const smtp_buffer *lines, bool is_ehlo) {
  if (lines->has_failed) return SMTP_IO_LOST;
  smtp_io io = smtp_link_write(&session->link, lines->bytes, lines->len, smtp_step(session, 1));
  return io == SMTP_IO_OK ? smtp_read_reply(session, is_ehlo, smtp_step(session, 1)) : io;
}

smtp_verdict smtp_broken(smtp_io io, smtp_stage stage) {
  uint32_t scope = stage < SMTP_AT_MAIL ? SBX_SCOPE_INSTANCE : SBX_SCOPE_ITEM;
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_RETRY, scope, "lost", "the connection broke");
  if (io == SMTP_IO_TIMEOUT) verdict = smtp_decide(verdict.kind, scope, "timeout", "no answer in time");
  if (io == SMTP_IO_STOPPED) verdict = smtp_decide(verdict.kind, SBX_SCOPE_ITEM, "stopping", "the gateway stops");
  if (io == SMTP_IO_SENSELESS) verdict = smtp_decide(verdict.kind, scope, "protocol", "the answer is not SMTP");
  if (io == SMTP_IO_UNTRUSTED) verdict = smtp_decide(verdict.kind, scope, "tls_certificate", "not trusted");
  if (io == SMTP_IO_HANDSHAKE) verdict = smtp_decide(verdict.kind, scope, "tls_handshake", "TLS failed");
  verdict.is_closing = true;
  return verdict;
}
