#include "session.h"
#include "instance.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static smtp_verdict fine(const char *reason) {
  return smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, reason, "");
}

void smtp_session_init(smtp_session *session, sbx_instance *instance, int stop_fd) {
  *session = (smtp_session){.instance = instance};
  smtp_link_init(&session->link, stop_fd);
}

static bool is_host_name(const char *text) {
  return strchr(text, '.') && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == strlen(text);
}

/* The name of this machine in EHLO: the configured one, a valid host name, or its address. */
static void put_own_name(smtp_buffer *out, const smtp_session *session) {
  char text[256] = "";
  struct sockaddr_storage own;
  socklen_t len = sizeof own;
  const char *given = session->instance->config.helo;
  if (!given[0] && gethostname(text, sizeof text - 1) == 0 && is_host_name(text)) given = text;
  if (given[0]) {
    smtp_put_text(out, given);
    return;
  }
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)&own;
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&own;
  bool is_known = getsockname(session->link.fd, (struct sockaddr *)&own, &len) == 0;
  bool is_v6 = is_known && own.ss_family == AF_INET6;
  if (!is_known || !inet_ntop(is_v6 ? AF_INET6 : AF_INET, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, text,
                              sizeof text))
    strcpy(text, "127.0.0.1");
  smtp_put_text(out, is_v6 ? "[IPv6:" : "[");
  smtp_put_text(out, text);
  smtp_put_byte(out, ']');
}

static smtp_io hello(smtp_session *session, const char *verb) {
  smtp_buffer line = {0};
  smtp_put_text(&line, verb);
  put_own_name(&line, session);
  smtp_put_text(&line, "\r\n");
  smtp_io io = smtp_exchange(session, &line, true);
  smtp_buffer_free(&line);
  return io;
}

static smtp_verdict greet(smtp_session *session) {
  const smtp_config *config = &session->instance->config;
  smtp_io io = hello(session, "EHLO ");
  /* A server from before 1995 knows neither EHLO nor extensions, so it is usable only where no extension
   * is needed. */
  bool is_unknown = io == SMTP_IO_OK && (session->reply.code == 500 || session->reply.code == 502);
  if (is_unknown && config->security == SMTP_NONE && !config->username[0]) io = hello(session, "HELO ");
  if (io != SMTP_IO_OK) return smtp_broken(io, SMTP_AT_EHLO);
  return session->reply.code == 250 ? fine("ok") : smtp_judge(SMTP_AT_EHLO, &session->reply);
}

static smtp_verdict secure(smtp_session *session) {
  const sbx_instance *i = session->instance;
  smtp_io io = smtp_link_secure(&session->link, i->tls, i->bio, i->config.host, smtp_step(session, 1));
  return io == SMTP_IO_OK ? fine("ok") : smtp_broken(io, SMTP_AT_STARTTLS);
}

static smtp_verdict start_tls(smtp_session *session) {
  smtp_buffer line = {0};
  if (!(session->offers & SMTP_HAS_STARTTLS))
    return smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, "starttls_not_offered", "EHLO: no STARTTLS");
  smtp_put_text(&line, "STARTTLS\r\n");
  smtp_io io = smtp_exchange(session, &line, false);
  smtp_buffer_free(&line);
  if (io != SMTP_IO_OK) return smtp_broken(io, SMTP_AT_STARTTLS);
  if (session->reply.code != 220) return smtp_judge(SMTP_AT_STARTTLS, &session->reply);
  /* Bytes after the reply were not protected by TLS and may be injected, so they are an error. */
  if (smtp_link_has_input(&session->link)) return smtp_broken(SMTP_IO_SENSELESS, SMTP_AT_STARTTLS);
  smtp_verdict verdict = secure(session);
  return SMTP_IS_OK(verdict) ? greet(session) : verdict;
}

static smtp_verdict reach(smtp_session *session) {
  sbx_instance *i = session->instance;
  smtp_addresses addresses;
  const char *fault = "";
  smtp_io io = smtp_resolve(&i->resolver, &addresses, smtp_step(session, 1));
  if (io == SMTP_IO_STOPPED) return smtp_broken(io, SMTP_AT_GREETING);
  if (io != SMTP_IO_OK)
    return smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, "unreachable", "the server's name is not found");
  io = smtp_link_connect(&session->link, &addresses, smtp_step(session, 1), &fault);
  if (io == SMTP_IO_STOPPED) return smtp_broken(io, SMTP_AT_GREETING);
  return io == SMTP_IO_OK ? fine("ok") : smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, "unreachable", fault);
}

smtp_verdict smtp_session_open(smtp_session *session, uint64_t give_up_ns) {
  smtp_security security = session->instance->config.security;
  session->give_up_ns = give_up_ns;
  session->needs_reset = false;
  smtp_verdict verdict = reach(session);
  if (SMTP_IS_OK(verdict) && security == SMTP_TLS) verdict = secure(session);
  if (SMTP_IS_OK(verdict)) {
    smtp_io io = smtp_read_reply(session, false, smtp_step(session, 1));
    if (io != SMTP_IO_OK) verdict = smtp_broken(io, SMTP_AT_GREETING);
    else if (session->reply.code != 220) verdict = smtp_judge(SMTP_AT_GREETING, &session->reply);
  }
  if (SMTP_IS_OK(verdict)) verdict = greet(session);
  if (SMTP_IS_OK(verdict) && security == SMTP_STARTTLS) verdict = start_tls(session);
  if (SMTP_IS_OK(verdict)) verdict = smtp_login(session);
  session->is_open = SMTP_IS_OK(verdict);
  if (!session->is_open) smtp_session_close(session, false);
  return verdict;
}

void smtp_session_close(smtp_session *session, bool is_polite) {
  if (session->is_open && is_polite) {
    smtp_buffer line = {0};
    session->give_up_ns = smtp_now_ns() + 1000000000u;
    smtp_put_text(&line, "QUIT\r\n");
    smtp_exchange(session, &line, false);
    smtp_buffer_free(&line);
  }
  session->is_open = false;
  smtp_link_close(&session->link);
}
