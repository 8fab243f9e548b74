/* transaction.c - one message: MAIL, RCPT, DATA, the message, the server's reply. */
#include "instance.h"

#include <stdio.h>
#include <string.h>

/* Servers scan a message before they answer its end, which takes longer than any other step. */
enum { STEPS_FOR_MESSAGE = 3 };

typedef struct command {
  smtp_stage stage;  /* 0 for RSET */
  smtp_buffer line;
} command;

static void put_mail(smtp_buffer *out, const smtp_session *session, const smtp_job *job) {
  smtp_put_text(out, "MAIL FROM:<");
  smtp_put_text(out, session->instance->config.from.address);
  smtp_put_text(out, ">");
  if (session->offers & SMTP_HAS_SIZE && !job->is_dry_run) {
    char text[32];
    snprintf(text, sizeof text, " SIZE=%zu", job->headers.len + job->content->text.len);
    smtp_put_text(out, text);
  }
  /* Bodies are ASCII on the wire; only headers with such an address need SMTPUTF8. */
  if (job->needs_utf8 && session->offers & SMTP_HAS_8BITMIME) smtp_put_text(out, " BODY=8BITMIME");
  if (job->needs_utf8) smtp_put_text(out, " SMTPUTF8");
  smtp_put_text(out, "\r\n");
}

static size_t make_commands(command *out, const smtp_session *session, const smtp_job *job) {
  size_t n = 0;
  if (session->needs_reset) smtp_put_text(&out[n++].line, "RSET\r\n");
  out[n].stage = SMTP_AT_MAIL;
  put_mail(&out[n++].line, session, job);
  out[n].stage = SMTP_AT_RCPT;
  smtp_put_text(&out[n].line, "RCPT TO:<");
  smtp_put_str(&out[n].line, smtp_buffer_str(&job->to));
  smtp_put_text(&out[n++].line, ">\r\n");
  /* A dry run ends before the message. */
  out[n].stage = job->is_dry_run ? 0 : SMTP_AT_DATA;
  smtp_put_text(&out[n++].line, job->is_dry_run ? "RSET\r\n" : "DATA\r\n");
  return n;
}

/* The verdict for the reply to one command; OK if the reply is as expected. */
static smtp_verdict judge(const smtp_session *session, smtp_stage stage) {
  unsigned code = session->reply.code;
  if (stage == SMTP_AT_DATA ? code == 354 : code / 100 == 2)
    return smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "ok", "");
  if (!stage && code != 421) return smtp_broken(SMTP_IO_SENSELESS, SMTP_AT_MAIL);
  return smtp_judge(stage ? stage : SMTP_AT_MAIL, &session->reply);
}

/* Everything before the message. The first bad reply decides; later ones are still read.
 * *is_data: the server now waits for a message, regardless of earlier replies. */
static smtp_verdict envelope(smtp_session *session, command *commands, size_t n, bool *is_data) {
  bool is_pipelined = session->offers & SMTP_HAS_PIPELINING;
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "recipient_accepted", "");
  smtp_buffer lines = {0};
  smtp_io io = SMTP_IO_OK;
  for (size_t k = 0; k < n; k++) smtp_put_str(&lines, smtp_buffer_str(&commands[k].line));
  if (is_pipelined) io = smtp_link_write(&session->link, lines.bytes, lines.len, smtp_step(session, 1));
  for (size_t k = 0; k < n && io == SMTP_IO_OK; k++) {
    if (is_pipelined) io = smtp_read_reply(session, false, smtp_step(session, 1));
    else if (SMTP_IS_OK(verdict)) io = smtp_exchange(session, &commands[k].line, false);
    else break;
    if (io != SMTP_IO_OK) break;
    smtp_verdict one = judge(session, commands[k].stage);
    if (SMTP_IS_OK(verdict) && !SMTP_IS_OK(one)) verdict = one;
    else verdict.is_closing |= one.is_closing;
    if (one.is_closing) break;
    *is_data = commands[k].stage == SMTP_AT_DATA && session->reply.code == 354;
  }
  smtp_buffer_free(&lines);
  if (io != SMTP_IO_OK && SMTP_IS_OK(verdict)) verdict = smtp_broken(io, SMTP_AT_MAIL);
  verdict.is_closing |= io != SMTP_IO_OK;
  if (SMTP_IS_OK(verdict)) verdict.code = session->reply.code;
  return verdict;
}

/* Sends the message with dot-stuffing: only the last line is a single dot (RFC 5321, 4.5.2). */
static void put_message(smtp_buffer *out, const smtp_job *job) {
  sbx_str text = smtp_buffer_str(&job->content->text);
  smtp_put_str(out, smtp_buffer_str(&job->headers));
  while (text.len) {
    const char *end = memchr(text.ptr, '\n', text.len);
    size_t len = end ? (size_t)(end - text.ptr) + 1 : text.len;
    if (text.ptr[0] == '.') smtp_put_byte(out, '.');
    smtp_put(out, text.ptr, len);
    text = (sbx_str){text.ptr + len, text.len - len};
  }
  smtp_put_text(out, ".\r\n");
}

static smtp_verdict message(smtp_session *session, const smtp_buffer *wire, bool *is_sent) {
  smtp_io io = smtp_link_write(&session->link, wire->bytes, wire->len, smtp_step(session, STEPS_FOR_MESSAGE));
  *is_sent = io == SMTP_IO_OK;
  if (*is_sent) {
    io = smtp_read_reply(session, false, smtp_step(session, STEPS_FOR_MESSAGE));
  } else if (io == SMTP_IO_LOST) {
    /* A server that drops the connection during a message often sends the reason first. */
    smtp_io late = smtp_read_reply(session, false, smtp_now_ns() + 100000000u);
    if (late == SMTP_IO_OK && session->reply.code >= 400) io = late;
  }
  if (io != SMTP_IO_OK) return smtp_broken(io, SMTP_AT_END);
  smtp_verdict verdict = judge(session, SMTP_AT_END);
  verdict.code = session->reply.code;
  verdict.is_closing |= !*is_sent;
  return verdict;
}

smtp_verdict smtp_session_send(smtp_session *session, const smtp_job *job, bool *is_sent) {
  command commands[4] = {0};
  smtp_buffer wire = {0};
  bool is_data = false;
  session->give_up_ns = job->give_up_ns;
  *is_sent = false;
  if (job->needs_utf8 && !(session->offers & SMTP_HAS_SMTPUTF8))
    return smtp_decide(SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, "smtputf8_unsupported", "EHLO: no SMTPUTF8");
  if (session->size_max && job->headers.len + job->content->text.len > session->size_max)
    return smtp_decide(SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, "message_too_large", "EHLO: SIZE is less");
  size_t n = make_commands(commands, session, job);
  bool has_failed = false;
  for (size_t k = 0; k < n; k++) has_failed |= commands[k].line.has_failed;
  put_message(&wire, job);
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "");
  if (!has_failed && !wire.has_failed) {
    session->needs_reset = true;
    verdict = envelope(session, commands, n, &is_data);
    if (is_data && SMTP_IS_OK(verdict)) {
      verdict = message(session, &wire, is_sent);
    } else if (is_data && !verdict.is_closing) {
      /* RFC 2920, 3.1: it sent 354 without a recipient, so it gets an empty message. */
      smtp_buffer dot = {0};
      smtp_put_text(&dot, ".\r\n");
      verdict.is_closing = smtp_exchange(session, &dot, false) != SMTP_IO_OK;
      smtp_buffer_free(&dot);
    }
    if (SMTP_IS_OK(verdict)) session->needs_reset = false;
  }
  for (size_t k = 0; k < n; k++) smtp_buffer_free(&commands[k].line);
  smtp_buffer_free(&wire);
  return verdict;
}
