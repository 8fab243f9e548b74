/* An APNs that costs less than what it measures: one thread, nghttp2, coalesced TLS writes; every request is
 * checked.
 *
 *   wire sink CERTIFICATE KEY [STREAMS]
 *
 * Prints "port N", and then obeys lines on its standard input: "begin N" forgets all and expects numbers below N;
 * "report" prints a line of JSON. It ends when its standard input does. */
#define _GNU_SOURCE
#include "connection.h"
#include "wire.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct counts counts;

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                     unsigned in_length, void *context) {
  (void)ssl, (void)context;
  static const unsigned char h2[] = "\x02h2";
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_length, h2, 3, in, in_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_tls(const char *certificate, const char *key) {
  SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
  if (!tls || SSL_CTX_use_certificate_chain_file(tls, certificate) != 1 ||
      SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
    return NULL;
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_select_cb(tls, choose_h2, NULL);
  return tls;
}

static int make_listener(int *port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1024) ||
      getsockname(listener, (struct sockaddr *)&address, &length))
    return -1;
  *port = ntohs(address.sin_port);
  return listener;
}

/* Returns false when there are no more orders. */
static bool obey(void) {
  char line[64];
  if (!fgets(line, sizeof line, stdin)) return false;
  if (strncmp(line, "begin ", 6) == 0) {
    counts_begin(&counts, strtoull(line + 6, NULL, 10));
    puts("begun");
    fflush(stdout);
  } else if (strcmp(line, "report\n") == 0) {
    counts_report(&counts, stdout);
  }
  return true;
}

static void watch(int poll, struct connection *c, int operation) {
  uint32_t events = EPOLLIN | (connection_wants_write(c) ? EPOLLOUT : 0);
  struct epoll_event event = {.events = events, .data.ptr = c};
  epoll_ctl(poll, operation, connection_socket(c), &event);
}

static void admit(int poll, int listener, SSL_CTX *tls, uint32_t streams) {
  int socket, on = 1;
  while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = connection_open(socket, tls, &counts, streams);
    if (c) watch(poll, c, EPOLL_CTL_ADD);
    else close(socket);
  }
}

int sink_main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "usage: wire sink CERTIFICATE KEY [STREAMS]\n"), 64;
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX *tls = make_tls(argv[1], argv[2]);
  int port = 0, listener = make_listener(&port), poll = epoll_create1(EPOLL_CLOEXEC);
  if (!tls || listener < 0 || poll < 0) return fprintf(stderr, "sink: cannot begin\n"), 1;
  uint32_t streams = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
  counts_begin(&counts, 1);
  setvbuf(stdin, NULL, _IONBF, 0);
  struct epoll_event orders = {.events = EPOLLIN, .data.ptr = &counts};
  struct epoll_event guests = {.events = EPOLLIN, .data.ptr = &listener};
  epoll_ctl(poll, EPOLL_CTL_ADD, STDIN_FILENO, &orders);
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &guests);
  printf("port %d\n", port);
  fflush(stdout);
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < count; i++) {
      void *who = events[i].data.ptr;
      if (who == &counts) {
        if (!obey()) return 0;
      } else if (who == &listener) {
        admit(poll, listener, tls, streams);
      } else {
        struct connection *c = who;
        bool wanted = connection_wants_write(c);
        if (!connection_work(c)) connection_close(c);
        else if (connection_wants_write(c) != wanted) watch(poll, c, EPOLL_CTL_MOD);
      }
    }
  }
}
