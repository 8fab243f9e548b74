/* transport.h - one connection: TCP or TLS, with a deadline on every step and without a signal. */
#ifndef SMTP_TRANSPORT_H
#define SMTP_TRANSPORT_H
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef enum smtp_io {
  SMTP_IO_OK,
  SMTP_IO_TIMEOUT,      /* the deadline passed */
  SMTP_IO_LOST,         /* the peer closed it, or the network broke */
  SMTP_IO_STOPPED,      /* the instance is to end now */
  SMTP_IO_UNTRUSTED,    /* the server's certificate is not good */
  SMTP_IO_HANDSHAKE,    /* TLS could not be agreed on */
  SMTP_IO_SENSELESS,    /* the peer does not speak SMTP */
} smtp_io;

typedef struct smtp_addresses {
  struct sockaddr_storage list[8];
  socklen_t lengths[8];
  unsigned count;
} smtp_addresses;

typedef struct smtp_link {
  int fd;       /* -1: closed */
  int stop_fd;  /* readable once the instance is to end */
  SSL *ssl;     /* NULL: in the clear */
  char in[4096];
  size_t in_start, in_end;
} smtp_link;

/* Time for deadlines: CLOCK_MONOTONIC in nanoseconds. */
uint64_t smtp_now_ns(void);

/* What every connection of an instance shares. NULL: ca_file cannot be used, or there is no memory. */
SSL_CTX *smtp_tls_make(const char *ca_file);
BIO_METHOD *smtp_bio_make(void);

void smtp_link_init(smtp_link *link, int stop_fd);
/* Tries one address after the other; *fault says in words why the last one failed. */
smtp_io smtp_link_connect(smtp_link *link, const smtp_addresses *addresses, uint64_t deadline_ns, const char **fault);
/* Goes over to TLS and checks that the peer is `host`, a name or an address. */
smtp_io smtp_link_secure(smtp_link *link, SSL_CTX *tls, BIO_METHOD *bio, const char *host, uint64_t deadline_ns);
/* Waits until the socket can be read or written: POLLIN or POLLOUT. */
smtp_io smtp_link_wait(smtp_link *link, short events, uint64_t deadline_ns);
smtp_io smtp_link_write(smtp_link *link, const char *bytes, size_t len, uint64_t deadline_ns);
/* One byte of input. */
smtp_io smtp_link_read(smtp_link *link, char *byte, uint64_t deadline_ns);
/* Bytes came that nobody has read yet. */
bool smtp_link_has_input(const smtp_link *link);
/* The other end is this machine. */
bool smtp_link_is_local(const smtp_link *link);
void smtp_link_close(smtp_link *link);

#endif
