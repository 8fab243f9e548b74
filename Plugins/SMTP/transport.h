/* transport.h - one connection: TCP or TLS, with a deadline on every step and without SIGPIPE. */
#ifndef SMTP_TRANSPORT_H
#define SMTP_TRANSPORT_H
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef enum smtp_io {
  SMTP_IO_OK,
  SMTP_IO_TIMEOUT,      /* the deadline passed */
  SMTP_IO_LOST,         /* the peer closed the connection, or the network failed */
  SMTP_IO_STOPPED,      /* the instance must stop now */
  SMTP_IO_UNTRUSTED,    /* the server's certificate is not trusted */
  SMTP_IO_HANDSHAKE,    /* the TLS handshake failed */
  SMTP_IO_SENSELESS,    /* the peer does not speak SMTP */
} smtp_io;

typedef struct smtp_addresses {
  struct sockaddr_storage list[8];
  socklen_t lengths[8];
  unsigned count;
} smtp_addresses;

typedef struct smtp_link {
  int fd;       /* -1 if closed */
  int stop_fd;  /* readable once the instance must stop */
  SSL *ssl;     /* NULL without TLS */
  char in[4096];
  size_t in_start, in_end;
} smtp_link;

/* The time for deadlines: CLOCK_MONOTONIC in nanoseconds. */
uint64_t smtp_now_ns(void);

/* The TLS context that all connections of an instance share. NULL if ca_file is unusable or memory is short. */
SSL_CTX *smtp_tls_make(const char *ca_file);
BIO_METHOD *smtp_bio_make(void);

void smtp_link_init(smtp_link *link, int stop_fd);
/* Tries one address after another; *fault is the error message of the last one. */
smtp_io smtp_link_connect(smtp_link *link, const smtp_addresses *addresses, uint64_t deadline_ns, const char **fault);
/* Starts TLS and checks that the peer's certificate matches `host`, a name or an address. */
smtp_io smtp_link_secure(smtp_link *link, SSL_CTX *tls, BIO_METHOD *bio, const char *host, uint64_t deadline_ns);
/* Waits until the socket is readable (POLLIN) or writable (POLLOUT). */
smtp_io smtp_link_wait(smtp_link *link, short events, uint64_t deadline_ns);
smtp_io smtp_link_write(smtp_link *link, const char *bytes, size_t len, uint64_t deadline_ns);
/* Reads one byte. */
smtp_io smtp_link_read(smtp_link *link, char *byte, uint64_t deadline_ns);
/* Whether there are unread bytes. */
bool smtp_link_has_input(const smtp_link *link);
/* Whether the peer is this machine. */
bool smtp_link_is_local(const smtp_link *link);
void smtp_link_close(smtp_link *link);

#endif
