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

/* Ends the program if it cannot. ca_file gets the certificate. */
void server_start(server *s, const char *ca_file);
/* Waits until its threads have ended. */
void server_stop(server *s);
/* A number below `below`, from a seed of the caller's own. */
unsigned random_below(unsigned *seed, unsigned below);
void fail(const char *what);

#endif
