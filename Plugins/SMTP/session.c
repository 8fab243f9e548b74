/* session.c - a connection and its transactions: libcurl speaks, and this file learns from its callbacks which
 * command got which reply. */
#include "instance.h"

#include <errno.h>

/* A server scans a message before it answers its end, which takes longer than any other step. */
enum { STEPS_FOR_MESSAGE = 3 };

void smtp_give(smtp_session *s, smtp_verdict verdict) {
  if (!s->has_verdict) s->verdict = verdict;
  s->has_verdict = true;
}

static void give_setup(smtp_session *s, const char *reason, const char *detail) {
  smtp_give(s, smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, reason, detail));
}

/* The verdict for a step without a reply. */
static smtp_verdict broken(const smtp_session *s, const char *reason, const char *detail) {
  uint32_t scope = s->stage < SMTP_AT_MAIL ? SBX_SCOPE_INSTANCE : SBX_SCOPE_ITEM;
  return smtp_decide(SBX_OUTCOME_RETRY, scope, reason, detail);
}

/* MARK: What libcurl reports */

/* A line was sent. Those of a login have the password in them: nothing but the verb is read. */
static void sent(smtp_session *s, const char *line, size_t len) {
  static const struct { const char *verb; smtp_stage stage; } verbs[] = {
    {"EHLO ", SMTP_AT_EHLO}, {"HELO ", SMTP_AT_EHLO}, {"STARTTLS\r\n", SMTP_AT_STARTTLS}, {"AUTH ", SMTP_AT_AUTH},
    {"MAIL FROM:", SMTP_AT_MAIL}, {"RCPT TO:", SMTP_AT_RCPT}, {"DATA\r\n", SMTP_AT_DATA},
  };
  sbx_str text = {line, len};
  if (sbx_is(text, "QUIT\r\n")) s->is_over = true;
  if (s->is_over) {
    smtp_end_reading(s);
    return;
  }
  for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
    if (sbx_begins(text, verbs[k].verb)) s->stage = verbs[k].stage;
  s->reply = (smtp_reply){0};
  s->step_ns = smtp_now_ns();
  if (s->stage == SMTP_AT_EHLO) s->has_auth = s->has_utf8 = false;
  if (s->stage != SMTP_AT_MAIL || s->is_open) return;
  s->is_open = true;
  smtp_connected(s->instance);
}

static int debug(CURL *curl, curl_infotype type, char *data, size_t len, void *context) {
  (void)curl;
  if (type == CURLINFO_HEADER_OUT) sent(context, data, len);
  return 0;
}

/* After the reply to EHLO: whether to go on. libcurl would go on without a login that the server does not offer. */
static bool is_welcome(smtp_session *s) {
  const smtp_config *config = &s->instance->config;
  if (s->reply.code / 100 != 2) {
    /* A server from before 1995 knows no EHLO: libcurl tries HELO, which does where no extension is needed. */
    bool is_old = s->reply.code == 500 || s->reply.code == 502;
    if (is_old && config->security == SMTP_NONE && !config->login) return true;
    smtp_give(s, smtp_judge(SMTP_AT_EHLO, &s->reply));
  } else if (s->is_secure || config->security == SMTP_NONE) {
    if (config->login && !s->has_auth) give_setup(s, "login_not_offered", "EHLO: no AUTH");
    else if (s->job->needs_utf8 && !s->has_utf8)
      smtp_give(s, smtp_decide(SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, "smtputf8_unsupported", "EHLO: no SMTPUTF8"));
  }
  return !s->has_verdict;
}

/* A line of a reply. */
static size_t heard(char *line, size_t size, size_t count, void *context) {
  smtp_session *s = context;
  sbx_str offer = {line + 4, size * count > 4 ? size * count - 4 : 0};
  if (s->is_over) return size * count;
  if (!smtp_reply_add(&s->reply, line, size * count)) {
    smtp_give(s, broken(s, "protocol", "the answer is not SMTP"));
    return 0;
  }
  if (s->stage == SMTP_AT_EHLO) {
    s->has_auth |= sbx_begins(offer, "AUTH ");
    s->has_utf8 |= sbx_begins(offer, "SMTPUTF8");
  }
  if (!s->reply.is_whole) return size * count;
  if (s->stage == SMTP_AT_STARTTLS && s->reply.code == 220) s->is_secure = true;
  return s->stage == SMTP_AT_EHLO && !is_welcome(s) ? 0 : size * count;
}

/* libcurl fetches the message. */
static size_t more(char *out, size_t size, size_t count, void *context) {
  smtp_session *s = context;
  size_t room = size * count, left = s->job->message.length - s->read, len = left < room ? left : room;
  if (s->stage != SMTP_AT_END) s->reply = (smtp_reply){0};
  s->stage = SMTP_AT_END;
  s->step_ns = smtp_now_ns();
  memcpy(out, s->job->message.bytes + s->read, len);
  s->read += len;
  return len;
}

/* Called at least once a second. */
static int tick(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  smtp_session *s = context;
  (void)a, (void)b, (void)c, (void)d;
  unsigned steps = s->stage == SMTP_AT_GREETING ? SMTP_STEPS_TO_CONNECT : s->stage == SMTP_AT_END ? STEPS_FOR_MESSAGE : 1;
  uint64_t now = smtp_now_ns(), limit = (uint64_t)s->instance->config.timeout_ms * 1000000u * steps;
  if (s->instance->phase == SMTP_ABORTED)
    smtp_give(s, smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "stopping", "the gateway stops"));
  else if (now > s->step_ns + limit || now > s->job->give_up_ns) smtp_give(s, broken(s, "timeout", "no answer in time"));
  return s->has_verdict;
}

/* MARK: Transfers */

static bool set_up(smtp_session *s) {
  bool is_set = smtp_handle_make(s);
  if (!s->curl) return false;
  SMTP_SET(CURLOPT_MAIL_FROM, s->instance->config.from.address);
  SMTP_SET(CURLOPT_VERBOSE, 1L);
  SMTP_SET(CURLOPT_DEBUGFUNCTION, debug);
  SMTP_SET(CURLOPT_DEBUGDATA, s);
  SMTP_SET(CURLOPT_HEADERFUNCTION, heard);
  SMTP_SET(CURLOPT_HEADERDATA, s);
  SMTP_SET(CURLOPT_READFUNCTION, more);
  SMTP_SET(CURLOPT_READDATA, s);
  SMTP_SET(CURLOPT_NOPROGRESS, 0L);
  SMTP_SET(CURLOPT_XFERINFOFUNCTION, tick);
  SMTP_SET(CURLOPT_XFERINFODATA, s);
  return is_set;
}

static smtp_verdict unreachable(const smtp_session *s) {
  long error = 0;
  char text[64] = "connection failed";
  curl_easy_getinfo(s->curl, CURLINFO_OS_ERRNO, &error);
  if (s->socket_error) error = s->socket_error;
  switch (error) {
    case ECONNREFUSED: strcpy(text, "connection refused"); break;
    case ENETUNREACH: case EHOSTUNREACH: strcpy(text, "no route"); break;
    case EMFILE: case ENFILE: strcpy(text, "too many open files"); break;
    case EPERM: strcpy(text, "forbidden by the system, or by isolation: sandbox"); break;
  }
  return broken(s, "unreachable", text);
}

/* The verdict for a failed transfer. A reply that is not as expected says more than libcurl's code. */
static smtp_verdict judge(const smtp_session *s, CURLcode code) {
  unsigned wanted = s->stage == SMTP_AT_DATA ? 3 : 2;
  if (s->has_verdict) return s->verdict;
  if (s->reply.is_whole && s->reply.code / 100 != wanted) return smtp_judge(s->stage, &s->reply);
  switch (code) {
    case CURLE_USE_SSL_FAILED:
      return smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, "starttls_not_offered", "EHLO: no STARTTLS");
    case CURLE_LOGIN_DENIED:
      if (s->stage != SMTP_AT_EHLO) return broken(s, "protocol", "the answer is not SMTP");
      return smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, "login_not_offered", "EHLO: no AUTH of this kind");
    case CURLE_COULDNT_RESOLVE_HOST: return broken(s, "unreachable", "the server's name is not found");
    case CURLE_COULDNT_CONNECT: return unreachable(s);
    case CURLE_OPERATION_TIMEDOUT: return broken(s, "timeout", "no answer in time");
    case CURLE_WEIRD_SERVER_REPLY: return broken(s, "protocol", "the answer is not SMTP");
    case CURLE_PEER_FAILED_VERIFICATION: case CURLE_SSL_CACERT_BADFILE:
      return broken(s, "tls_certificate", "not trusted");
    case CURLE_SSL_CONNECT_ERROR: return broken(s, "tls_handshake", "TLS failed");
    case CURLE_OUT_OF_MEMORY: return smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "");
    default: return broken(s, "lost", "the connection broke");
  }
}

static smtp_verdict perform(smtp_session *s) {
  s->may_connect = !s->is_open;
  s->stage = s->is_open ? SMTP_AT_MAIL : SMTP_AT_GREETING;
  s->is_secure = s->instance->config.security == SMTP_TLS;
  s->reply = (smtp_reply){0};
  s->has_verdict = s->is_over = false;
  s->read = 0;
  s->socket_error = 0;
  s->step_ns = smtp_now_ns();
  CURLcode code = curl_easy_perform(s->curl);
  if (code != CURLE_OK) return judge(s, code);
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "ok", "");
  verdict.code = s->reply.code;
  return verdict;
}

/* A transfer of one command. */
static smtp_verdict command(smtp_session *s, const char *before, const char *address, const char *after) {
  char line[400];
  bool is_set = true;
  snprintf(line, sizeof line, "%s%s%s", before, address, after);
  SMTP_SET(CURLOPT_NOBODY, 1L);
  SMTP_SET(CURLOPT_CUSTOMREQUEST, line);
  return is_set ? perform(s) : smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "");
}

/* Everything before the message; RSET ends it, and if that fails, libcurl closes the connection. */
static smtp_verdict dry_run(smtp_session *s) {
  const smtp_job *job = s->job;
  smtp_verdict verdict = command(s, "MAIL FROM:<", s->instance->config.from.address, job->needs_utf8 ? "> SMTPUTF8" : ">");
  if (SMTP_IS_OK(verdict)) verdict = command(s, "RCPT TO:<", job->to, ">");
  if (!SMTP_IS_OK(verdict)) return verdict;
  command(s, "RSET", "", "");
  verdict.reason = "recipient_accepted";
  return verdict;
}

static smtp_verdict message(smtp_session *s) {
  bool is_set = true;
  struct curl_slist *to = curl_slist_append(NULL, s->job->to);
  SMTP_SET(CURLOPT_CUSTOMREQUEST, NULL);
  SMTP_SET(CURLOPT_UPLOAD, 1L);
  SMTP_SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)s->job->message.length);
  SMTP_SET(CURLOPT_MAIL_RCPT, to);
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "");
  if (to && is_set) verdict = perform(s);
  SMTP_SET(CURLOPT_MAIL_RCPT, NULL);
  SMTP_SET(CURLOPT_UPLOAD, 0L);
  curl_slist_free_all(to);
  return verdict;
}

smtp_verdict smtp_session_send(smtp_session *s, const smtp_job *job) {
  s->job = job;
  s->stage = SMTP_AT_GREETING;
  if (s->is_open && job->needs_utf8 && !s->has_utf8)
    return smtp_decide(SBX_OUTCOME_REJECTED, SBX_SCOPE_ITEM, "smtputf8_unsupported", "EHLO: no SMTPUTF8");
  if (!s->curl && !set_up(s)) {
    smtp_session_close(s);
    return smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "libcurl cannot be set up");
  }
  if (!s->is_open) {
    smtp_verdict verdict = smtp_log_in(s);
    if (!SMTP_IS_OK(verdict)) return verdict;
  }
  return job->is_dry_run ? dry_run(s) : message(s);
}

bool smtp_session_was_cut(const smtp_session *s) {
  return !s->is_open && s->stage < SMTP_AT_END && (!s->reply.is_whole || s->reply.code == 421);
}

void smtp_session_close(smtp_session *s) {
  if (!s->curl) return;
  smtp_end_reading(s);
  curl_easy_cleanup(s->curl);
  s->curl = NULL;
}
