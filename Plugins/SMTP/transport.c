#include "transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t smtp_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void smtp_link_init(smtp_link *link, int stop_fd) { *link = (smtp_link){.fd = -1, .stop_fd = stop_fd}; }

smtp_io smtp_link_wait(smtp_link *link, short events, uint64_t deadline_ns) {
  for (;;) {
    uint64_t now = smtp_now_ns();
    if (now >= deadline_ns) return SMTP_IO_TIMEOUT;
    uint64_t ms = (deadline_ns - now) / 1000000 + 1;
    struct pollfd fds[2] = {{.fd = link->fd, .events = events}, {.fd = link->stop_fd, .events = POLLIN}};
    int ready = poll(fds, 2, ms > 60000 ? 60000 : (int)ms);
    if (ready < 0 && errno != EINTR) return SMTP_IO_LOST;
    if (ready <= 0) continue;
    /* An answer that has already arrived is still used. */
    if (fds[0].revents && (events & POLLIN)) return SMTP_IO_OK;
    if (fds[1].revents) return SMTP_IO_STOPPED;
    if (fds[0].revents) return SMTP_IO_OK;
  }
}

static const char *words_for(int error) {
  switch (error) {
    case ECONNREFUSED: return "connection refused";
    case ENETUNREACH: case EHOSTUNREACH: return "no route";
    case ECONNRESET: return "connection reset";
    case EMFILE: case ENFILE: return "too many open files";
    case EPERM: return "forbidden by the system, or by isolation: sandbox";
    default: return "connection failed";
  }
}

static smtp_io connect_one(smtp_link *link, const struct sockaddr *address, socklen_t len, uint64_t deadline_ns,
                           const char **fault) {
  int one = 1, error = 0;
  socklen_t error_len = sizeof error;
  link->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  smtp_io io = SMTP_IO_LOST;
  if (link->fd >= 0) {
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(link->fd, address, len) == 0) return SMTP_IO_OK;
    error = errno;
    if (error == EINPROGRESS) {
      error = 0;
      io = smtp_link_wait(link, POLLOUT, deadline_ns);
      if (io == SMTP_IO_OK) getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
      if (io == SMTP_IO_OK && !error) return io;
      if (io == SMTP_IO_OK) io = SMTP_IO_LOST;
    }
  } else {
    error = errno;
  }
  *fault = io == SMTP_IO_TIMEOUT ? "no answer" : words_for(error);
  smtp_link_close(link);
  return io;
}

smtp_io smtp_link_connect(smtp_link *link, const smtp_addresses *addresses, uint64_t deadline_ns, const char **fault) {
  smtp_io io = SMTP_IO_LOST;
  *fault = "no address";
  for (unsigned k = 0; k < addresses->count; k++) {
    /* Each address gets its share of the time, so that a dead first one does not use up all of it. */
    uint64_t now = smtp_now_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t until = now + left / (addresses->count - k);
    io = connect_one(link, (const struct sockaddr *)&addresses->list[k], addresses->lengths[k], until, fault);
    if (io == SMTP_IO_OK || io == SMTP_IO_STOPPED) break;
  }
  return io;
}

smtp_io smtp_link_write(smtp_link *link, const char *bytes, size_t len, uint64_t deadline_ns) {
  while (len) {
    short events = POLLOUT;
    ssize_t wrote;
    if (link->ssl) {
      ERR_clear_error();
      int result = SSL_write(link->ssl, bytes, len > 16384 ? 16384 : (int)len);
      int why = result > 0 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, result);
      if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ) return SMTP_IO_LOST;
      if (why == SSL_ERROR_WANT_READ) events = POLLIN;
      wrote = result > 0 ? result : -1;
    } else {
      wrote = send(link->fd, bytes, len, MSG_NOSIGNAL);
      if (wrote < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return SMTP_IO_LOST;
    }
    if (wrote < 0) {
      smtp_io io = smtp_link_wait(link, events, deadline_ns);
      if (io != SMTP_IO_OK) return io;
      continue;
    }
    bytes += wrote;
    len -= (size_t)wrote;
  }
  return SMTP_IO_OK;
}

/* Fills the empty buffer. */
static smtp_io fill(smtp_link *link, uint64_t deadline_ns) {
  for (;;) {
    short events = POLLIN;
    ssize_t got;
    if (link->ssl) {
      ERR_clear_error();
      int result = SSL_read(link->ssl, link->in, sizeof link->in);
      int why = result > 0 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, result);
      if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ) return SMTP_IO_LOST;
      if (why == SSL_ERROR_WANT_WRITE) events = POLLOUT;
      got = result > 0 ? result : -1;
    } else {
      got = recv(link->fd, link->in, sizeof link->in, 0);
      if (got == 0) return SMTP_IO_LOST;
      if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return SMTP_IO_LOST;
    }
    if (got > 0) {
      link->in_start = 0;
      link->in_end = (size_t)got;
      return SMTP_IO_OK;
    }
    smtp_io io = smtp_link_wait(link, events, deadline_ns);
    if (io != SMTP_IO_OK) return io;
  }
}

smtp_io smtp_link_read(smtp_link *link, char *byte, uint64_t deadline_ns) {
  if (link->in_start == link->in_end) {
    smtp_io io = fill(link, deadline_ns);
    if (io != SMTP_IO_OK) return io;
  }
  *byte = link->in[link->in_start++];
  return SMTP_IO_OK;
}

bool smtp_link_has_input(const smtp_link *link) { return link->in_start < link->in_end; }

bool smtp_link_is_local(const smtp_link *link) {
  struct sockaddr_storage peer;
  socklen_t len = sizeof peer;
  if (getpeername(link->fd, (struct sockaddr *)&peer, &len) != 0) return false;
  if (peer.ss_family == AF_INET)
    return ntohl(((const struct sockaddr_in *)&peer)->sin_addr.s_addr) >> 24 == 127;
  return peer.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&peer)->sin6_addr);
}

void smtp_link_close(smtp_link *link) {
  if (link->ssl && SSL_is_init_finished(link->ssl)) SSL_shutdown(link->ssl);
  ERR_clear_error();
  SSL_free(link->ssl);
  if (link->fd >= 0) close(link->fd);
  smtp_link_init(link, link->stop_fd);
}
