#include "server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct connection {
  server *s;
  int fd;
  SSL *ssl;
  unsigned seed;
  char in[8192];
  size_t start, end;
} connection;

void fail(const char *what) {
  fprintf(stderr, "stress: %s\n", what);
  _exit(1);
}

unsigned random_below(unsigned *seed, unsigned below) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % below;
}

static int get_byte(connection *c) {
  if (c->start == c->end) {
    ssize_t got = c->ssl ? SSL_read(c->ssl, c->in, sizeof c->in) : recv(c->fd, c->in, sizeof c->in, 0);
    if (got <= 0) return -1;
    c->start = 0;
    c->end = (size_t)got;
  }
  return (unsigned char)c->in[c->start++];
}

static int get_line(connection *c, char *line, size_t room) {
  size_t len = 0;
  for (int byte; (byte = get_byte(c)) >= 0;) {
    if (byte == '\n') {
      line[len && line[len - 1] == '\r' ? len - 1 : len] = 0;
      return 1;
    }
    if (len + 1 < room) line[len++] = (char)byte;
  }
  return 0;
}

static int put(connection *c, const char *text) {
  size_t len = strlen(text);
  /* Sometimes in pieces. */
  size_t first = random_below(&c->seed, 4) ? len : random_below(&c->seed, (unsigned)len) + 1;
  for (size_t from = 0; from < len; from += first) {
    size_t piece = len - from < first ? len - from : first;
    if (c->ssl ? SSL_write(c->ssl, text + from, (int)piece) <= 0 : send(c->fd, text + from, piece, MSG_NOSIGNAL) < 0)
      return 0;
  }
  return 1;
}

/* Replies to a command or misbehaves. Returns 0 when the connection is over. */
static int reply(connection *c, const char *good, int *went_well) {
  *went_well = 0;
  if (random_below(&c->seed, 1000) >= c->s->trouble) {
    *went_well = 1;
    return put(c, good);
  }
  switch (random_below(&c->seed, 10)) {
    case 0: return 0;
    case 1: return put(c, "421 4.3.2 going down\r\n") && 0;
    case 2: return put(c, "451 4.3.0 not now\r\n");
    case 3: return put(c, "550 5.1.1 nobody\r\n");
    case 4: return put(c, "554 no\r\n");
    case 5: return put(c, "what?\r\n");
    case 6: return put(c, "250-one\r\n550 two\r\n");
    case 7: return put(c, "452 4.5.3 slow down\r\n");
    case 8: return put(c, "2") && 0;
    default: *went_well = 1; return poll(NULL, 0, 130), put(c, good);
  }
}

static int take_message(connection *c) {
  char line[2048];
  unsigned number = DELIVERIES_MAX, lines = 0;
  int went_well;
  for (; get_line(c, line, sizeof line); lines++) {
    if (!strcmp(line, ".")) {
      /* The server said 354 after refusing the recipient; this is how a client gets out of that. */
      if (!lines) return put(c, "554 nothing for nobody\r\n");
      if (!reply(c, "250 2.0.0 queued\r\n", &went_well)) return 0;
      if (number >= DELIVERIES_MAX) fail("a message without a Message-ID of ours");
      if (went_well) atomic_fetch_add(&c->s->received[number], 1);
      return 1;
    }
    if (!strncmp(line, "Message-ID: <n-", 15)) number = (unsigned)strtoul(line + 15, NULL, 10);
    if (random_below(&c->seed, 1000) * 20 < c->s->trouble) return 0;
  }
  return 0;
}

static int start_tls(connection *c) {
  if (!put(c, "220 go\r\n")) return 0;
  c->ssl = SSL_new(c->s->tls);
  SSL_set_fd(c->ssl, c->fd);
  return SSL_accept(c->ssl) == 1;
}

static const char *offers(const connection *c) {
  if (c->s->tls && !c->ssl) return "250-here\r\n250 STARTTLS\r\n";
  return c->seed & 4096 ? "250-here\r\n250-PIPELINING\r\n250-SIZE 100000\r\n250 AUTH PLAIN\r\n"
                        : "250-here\r\n250-AUTH=LOGIN\r\n250 8BITMIME\r\n";
}

static int command(connection *c, const char *line) {
  int went_well;
  if (!strncmp(line, "EHLO", 4)) return reply(c, offers(c), &went_well);
  if (!strcmp(line, "STARTTLS")) return start_tls(c);
  if (!strncmp(line, "AUTH PLAIN", 10)) return reply(c, "235 in\r\n", &went_well);
  if (!strcmp(line, "AUTH LOGIN")) {
    char more[256];
    if (!reply(c, "334 VXNlcm5hbWU6\r\n", &went_well)) return 0;
    if (!went_well) return 1;
    return get_line(c, more, sizeof more) && put(c, "334 UGFzc3dvcmQ6\r\n") && get_line(c, more, sizeof more) &&
           reply(c, "235 in\r\n", &went_well);
  }
  if (!strcmp(line, "DATA")) return reply(c, "354 go on\r\n", &went_well) && (!went_well || take_message(c));
  if (!strcmp(line, "QUIT")) return put(c, "221 bye\r\n") && 0;
  return reply(c, "250 fine\r\n", &went_well);
}

static void *serve(void *argument) {
  connection *c = argument;
  char line[2048];
  int went_well;
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, NULL);
  if (reply(c, "220 stress ESMTP\r\n", &went_well))
    while (get_line(c, line, sizeof line) && command(c, line)) {
    }
  SSL_free(c->ssl);
  close(c->fd);
  atomic_fetch_sub(&c->s->open, 1);
  free(c);
  return NULL;
}

static void *listen_on(void *argument) {
  server *s = argument;
  while (!atomic_load(&s->stopped)) {
    struct pollfd one = {.fd = s->fd, .events = POLLIN};
    if (poll(&one, 1, 20) <= 0) continue;
    int fd = accept(s->fd, NULL, NULL);
    if (fd < 0) continue;
    struct timeval limit = {5, 0};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    connection *c = calloc(1, sizeof *c);
    pthread_t thread;
    *c = (connection){.s = s, .fd = fd, .seed = atomic_fetch_add(&s->seed, 7919)};
    atomic_fetch_add(&s->open, 1);
    if (pthread_create(&thread, NULL, serve, c)) fail("no thread");
    pthread_detach(thread);
  }
  close(s->fd);
  atomic_fetch_sub(&s->open, 1);
  return NULL;
}

static SSL_CTX *make_tls(const char *ca_file) {
  SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *made = X509_new();
  X509V3_CTX context;
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -60);
  X509_gmtime_adj(X509_getm_notAfter(made), 3600);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, (const unsigned char *)"stress", -1, -1, 0);
  X509_set_issuer_name(made, X509_get_subject_name(made));
  X509_set_pubkey(made, key);
  X509V3_set_ctx(&context, made, made, NULL, NULL, 0);
  X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  X509_add_ext(made, names, -1);
  X509_EXTENSION_free(names);
  FILE *file = fopen(ca_file, "w");
  if (!file || !X509_sign(made, key, EVP_sha256()) || !PEM_write_X509(file, made)) fail("no certificate");
  fclose(file);
  SSL_CTX_use_certificate(tls, made);
  SSL_CTX_use_PrivateKey(tls, key);
  X509_free(made);
  EVP_PKEY_free(key);
  return tls;
}

void server_start(server *s, const char *ca_file) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof own;
  pthread_t thread;
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&own, len) || listen(s->fd, 64)) fail("no port");
  if (getsockname(s->fd, (struct sockaddr *)&own, &len)) fail("no port");
  s->port = ntohs(own.sin_port);
  if (ca_file) s->tls = make_tls(ca_file);
  atomic_store(&s->open, 1);
  if (pthread_create(&thread, NULL, listen_on, s)) fail("no thread");
  pthread_detach(thread);
}

void server_stop(server *s) {
  atomic_store(&s->stopped, 1);
  while (atomic_load(&s->open)) poll(NULL, 0, 2);
  SSL_CTX_free(s->tls);
}
