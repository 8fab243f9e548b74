/* login.c - AUTH PLAIN and AUTH LOGIN (RFC 4954, RFC 4616). */
#include "instance.h"
#include "text.h"

#include <openssl/crypto.h>
#include <string.h>

static smtp_verdict setup_fault(const char *reason, const char *detail) {
  smtp_verdict verdict = smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, reason, detail);
  verdict.is_closing = true;
  return verdict;
}

/* Answers a 334 with one line in base64. */
static smtp_io answer(smtp_session *session, const char *before, sbx_str bytes) {
  smtp_buffer line = {0};
  smtp_put_text(&line, before);
  smtp_put_base64(&line, bytes);
  smtp_put_text(&line, "\r\n");
  smtp_io io = smtp_exchange(session, &line, false);
  smtp_buffer_free(&line);
  return io;
}

static smtp_io plain(smtp_session *session, sbx_str username, sbx_str password) {
  smtp_buffer both = {0};
  smtp_put_byte(&both, 0);
  smtp_put_str(&both, username);
  smtp_put_byte(&both, 0);
  smtp_put_str(&both, password);
  smtp_io io = both.has_failed ? SMTP_IO_LOST : answer(session, "AUTH PLAIN ", smtp_buffer_str(&both));
  smtp_buffer_free(&both);
  return io;
}

static smtp_io login(smtp_session *session, sbx_str username, sbx_str password) {
  smtp_buffer line = {0};
  smtp_put_text(&line, "AUTH LOGIN\r\n");
  smtp_io io = smtp_exchange(session, &line, false);
  smtp_buffer_free(&line);
  if (io == SMTP_IO_OK && session->reply.code == 334) io = answer(session, "", username);
  if (io == SMTP_IO_OK && session->reply.code == 334) io = answer(session, "", password);
  return io;
}

smtp_verdict smtp_login(smtp_session *session) {
  const sbx_instance *i = session->instance;
  const char *name = i->config.username;
  if (!name[0]) return smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "ok", "");
  /* The name in the config may resolve to any address: the actual peer's address decides. */
  if (!session->link.ssl && !smtp_link_is_local(&session->link))
    return setup_fault("login_in_the_clear", "the password is sent to this machine alone without TLS");
  if (!(session->offers & (SMTP_HAS_AUTH_PLAIN | SMTP_HAS_AUTH_LOGIN)))
    return setup_fault("login_not_offered", "the server offers neither AUTH PLAIN nor LOGIN");
  char password[1024];
  size_t len = sizeof password;
  sbx_status status = i->secrets->get(i->host, SMTP_PASSWORD, password, &len);
  if (status != SBX_OK || memchr(password, 0, len)) {
    OPENSSL_cleanse(password, sizeof password);
    return setup_fault("password_unusable", "the password is too long, or has a NUL in it");
  }
  sbx_str username = {name, strlen(name)}, secret = {password, len};
  smtp_io io = session->offers & SMTP_HAS_AUTH_PLAIN ? plain(session, username, secret)
                                                     : login(session, username, secret);
  OPENSSL_cleanse(password, sizeof password);
  if (io != SMTP_IO_OK) return smtp_broken(io, SMTP_AT_AUTH);
  if (session->reply.code != 235) return smtp_judge(SMTP_AT_AUTH, &session->reply);
  return smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "ok", "");
}
