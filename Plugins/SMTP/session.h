/* session.h - the dialogue with the server: RFC 5321, with the extensions it offers. */
#ifndef SMTP_SESSION_H
#define SMTP_SESSION_H
#include "buffer.h"
#include "errors.h"
#include "transport.h"

struct smtp_job;

/* Extensions offered in EHLO. */
enum {
  SMTP_HAS_STARTTLS = 1, SMTP_HAS_PIPELINING = 2, SMTP_HAS_SIZE = 4, SMTP_HAS_8BITMIME = 8, SMTP_HAS_SMTPUTF8 = 16,
  SMTP_HAS_AUTH_PLAIN = 32, SMTP_HAS_AUTH_LOGIN = 64,
};

typedef struct smtp_session {
  sbx_instance *instance;
  smtp_link link;
  smtp_reply reply;      /* the last reply */
  unsigned offers;       /* SMTP_HAS_* */
  uint64_t size_max;     /* longest message; 0 if unknown */
  uint64_t give_up_ns;   /* latest end of every step, regardless of its own deadline */
  bool is_open;          /* logged in, ready for MAIL */
  bool needs_reset;      /* the last transaction was aborted */
} smtp_session;

void smtp_session_init(smtp_session *session, sbx_instance *instance, int stop_fd);
/* Connects, starts TLS, logs in. On a verdict other than OK the connection is closed again. */
smtp_verdict smtp_session_open(smtp_session *session, uint64_t give_up_ns);
/* Runs one transaction. *is_sent: the whole message was sent, so it may arrive whatever happens now. */
smtp_verdict smtp_session_send(smtp_session *session, const struct smtp_job *job, bool *is_sent);
/* Sends QUIT if there is time. */
void smtp_session_close(smtp_session *session, bool is_polite);

/* dialogue.c, shared by the other files: */
/* The deadline of one step. */
uint64_t smtp_step(const smtp_session *session, unsigned times);
/* Reads a reply, and stores the extensions that EHLO's offers. SMTP_IO_SENSELESS if it is malformed. */
smtp_io smtp_read_reply(smtp_session *session, bool is_ehlo, uint64_t deadline_ns);
/* Sends lines and reads the reply. */
smtp_io smtp_exchange(smtp_session *session, const smtp_buffer *lines, bool is_ehlo);
/* The verdict for a step without a reply. */
smtp_verdict smtp_broken(smtp_io io, smtp_stage stage);
/* login.c: AUTH. */
smtp_verdict smtp_login(smtp_session *session);

#endif
