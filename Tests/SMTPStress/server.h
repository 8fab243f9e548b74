/* server.h - a mail server in threads that misbehaves at random. */
#ifndef STRESS_SERVER_H
#define STRESS_SERVER_H
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdint.h>

#define DELIVERIES_MAX 100000u

typedef struct server {
  int fd, port;
  SSL_CTX *tls;                    /* NULL: no STARTTLS */
  unsigned trouble;                /* of a thousand commands, how many go wrong */
  atomic_uint seed, open, stopped;
  atomic_uchar received[DELIVERIES_MAX];  /* by the number in the Message-ID */
} server;

/* Ends the program on failure. Writes the certificate to ca_file. */
void server_start(server *s, const char *ca_file);
/* Waits until the server's threads have ended. */
void server_stop(server *s);
/* A number less than `below`, from the caller's own seed. */
unsigned random_below(unsigned *seed, unsigned below);
void fail(const char *what);

#endif
