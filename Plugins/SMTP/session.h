/* session.h - the dialogue with the server: RFC 5321, with the extensions that it offers. */
#ifndef SMTP_SESSION_H
#define SMTP_SESSION_H
#include "buffer.h"
#include "errors.h"
#include "transport.h"

struct smtp_job;

/* What EHLO offered. */
enum {
  SMTP_HAS_STARTTLS = 1, SMTP_HAS_PIPELINING = 2, SMTP_HAS_SIZE = 4, SMTP_HAS_8BITMIME = 8, SMTP_HAS_SMTPUTF8 = 16,
  SMTP_HAS_AUTH_PLAIN = 32, SMTP_HAS_AUTH_LOGIN = 64,
};

typedef struct smtp_session {
  sbx_instance *instance;
  smtp_link link;
  smtp_reply reply;      /* the last one */
  unsigned offers;       /* SMTP_HAS_* */
  uint64_t size_max;     /* of a message; 0: unknown */
  uint64_t give_up_ns;   /* no step may last longer, whatever its own deadline is */
  bool is_open;          /* logged in, ready for MAIL */
  bool needs_reset;      /* the last transaction was broken off */
} smtp_session;

void smtp_session_init(smtp_session *session, sbx_instance *instance, int stop_fd);
/* Connects, goes over to TLS, logs in. After a verdict that is not OK it is closed again. */
smtp_verdict smtp_session_open(smtp_session *session, uint64_t give_up_ns);
/* One transaction. *is_sent: all of the message has left, so that it may arrive whatever comes now. */
smtp_verdict smtp_session_send(smtp_session *session, const struct smtp_job *job, bool *is_sent);
/* Says QUIT if there is time for it. */
void smtp_session_close(smtp_session *session, bool is_polite);

/* dialogue.c, for the others: */
/* One step's deadline. */
uint64_t smtp_step(const smtp_session *session, unsigned times);
/* Reads a reply; of EHLO's the offers are remembered. SMTP_IO_SENSELESS: it is none. */
smtp_io smtp_read_reply(smtp_session *session, bool is_ehlo, uint64_t deadline_ns);
/* Sends lines and reads the reply. */
smtp_io smtp_exchange(smtp_session *session, const smtp_buffer *lines, bool is_ehlo);
/* A verdict about a step that came to no reply. */
smtp_verdict smtp_broken(smtp_io io, smtp_stage stage);
/* login.c: AUTH. */
smtp_verdict smtp_login(smtp_session *session);

#endif
