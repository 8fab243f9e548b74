/* Webhooks as Zendesk's SDK sends them, over HTTP/1.1 connections that are kept open; one thread.
 *
 *   wire load PORT PATH CONNECTIONS COUNT PER_SECOND DEVICES
 *   wire load PORT PATH CONNECTIONS COUNT PER_SECOND @FILE [HEADER...]
 *
 * PER_SECOND 0: each connection sends the next webhook when the last is answered. Else webhooks are due at even
 * distances, and times count from when they were due, also if they had to wait. Webhook k has the devices
 * k * DEVICES and the following; a token says when it was sent and which number it has. With @FILE the body is the
 * file's, with k in the place of each @NUMBER@. Prints a line of JSON. */
#define _GNU_SOURCE
#include "counts.h"
#include "wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_BYTES (1024 * 1024)

struct lane {
  int socket;
  uint64_t sent_ns;
  bool is_waiting;
  char in[4096];
  size_t in_used;
};

struct load {
  const char *path;
  int port, devices;
  /* The text of @FILE, and header lines. */
  char *text, headers[2048];
  uint64_t count, next, answered, begin_ns;
  double per_second;
  uint64_t statuses[6], busy, lost;
  struct counts counts;
  struct lane **idle;
  size_t idle_count, lanes;
};

static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static char *hex(char *out, uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) *out++ = "0123456789abcdef"[(value >> shift) & 15];
  return out;
}

/* Writes the file's text with the webhook's number. Returns the end. */
static char *write_text(const struct load *load, char *b, uint64_t number) {
  const char *rest = load->text, *mark;
  while ((mark = strstr(rest, "@NUMBER@"))) {
    b = (char *)mempcpy(b, rest, (size_t)(mark - rest));
    b += sprintf(b, "%llu", (unsigned long long)number);
    rest = mark + 8;
  }
  return stpcpy(b, rest);
}

static char *write_webhook(const struct load *load, char *b, uint64_t number, uint64_t sent_ns) {
  b = stpcpy(b, "{\"devices\":[");
  for (int device = 0; device < load->devices; device++) {
    uint64_t id = number * (uint64_t)load->devices + (uint64_t)device;
    b = stpcpy(b, device ? ",{\"identifier\":\"" : "{\"identifier\":\"");
    b = hex(hex(hex(hex(b, sent_ns), mixed(id)), mixed(~id)), id);
    b = stpcpy(b, "\",\"type\":\"ios\"}");
  }
  return b + sprintf(b,
      "],\"notification\":{\"title\":\"Ada replied\",\"body\":\"Your parcel is on its way and will be with you tomorrow.\","
      "\"ticket_id\":\"%llu\"}}",
      (unsigned long long)number);
}

static size_t write_request(const struct load *load, char *out, uint64_t number, uint64_t sent_ns) {
  static char body[BODY_BYTES];
  char *end = load->text ? write_text(load, body, number) : write_webhook(load, body, number, sent_ns);
  size_t body_bytes = (size_t)(end - body);
  size_t used = (size_t)sprintf(out, "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n%scontent-length: %zu\r\n\r\n", load->path,
      load->port, load->headers, body_bytes);
  memcpy(out + used, body, body_bytes);
  return used + body_bytes;
}

static uint64_t due(const struct load *load, uint64_t number) {
  return load->begin_ns + (uint64_t)((double)number * 1e9 / load->per_second);
}

/* Sends the next webhook over a lane. Returns false if the lane is gone. */
static bool post(struct load *load, struct lane *lane) {
  static char request[BODY_BYTES + 4096];
  uint64_t number = load->next++;
  lane->sent_ns = load->per_second > 0 ? due(load, number) : now_ns();
  lane->in_used = 0;
  lane->is_waiting = true;
  size_t length = write_request(load, request, number, lane->sent_ns), sent = 0;
  while (sent < length) {
    ssize_t n = send(lane->socket, request + sent, length - sent, MSG_NOSIGNAL);
    if (n > 0) sent += (size_t)n;
    else if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

/* The status of a complete answer; 0: not complete yet; -1: the lane is gone. */
static int answer(struct lane *lane) {
  ssize_t n = recv(lane->socket, lane->in + lane->in_used, sizeof lane->in - 1 - lane->in_used, MSG_DONTWAIT);
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
  lane->in_used += (size_t)n;
  lane->in[lane->in_used] = 0;
  char *end = strstr(lane->in, "\r\n\r\n");
  if (!end) return lane->in_used == sizeof lane->in - 1 ? -1 : 0;
  char *length = strcasestr(lane->in, "content-length:");
  size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
  if (lane->in_used < (size_t)(end + 4 - lane->in) + body) return 0;
  return atoi(lane->in + 9);
}

/* Records that a webhook was answered or its lane is gone. */
static void settle(struct load *load, struct lane *lane, int status) {
  if (status < 0) load->lanes--;
  if (!lane->is_waiting) return;
  lane->is_waiting = false;
  uint64_t at = now_ns();
  load->answered++;
  load->counts.last_ns = at;
  if (status > 0) {
    if (status / 100 < 6) load->statuses[status / 100]++;
    if (status == 503) load->busy++;
    if (status / 100 == 2) counts_latency(&load->counts, lane->sent_ns, at);
    load->idle[load->idle_count++] = lane;
  } else {
    load->lost++;
  }
}

static struct lane *dial(int port) {
  struct lane *lane = calloc(1, sizeof *lane);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1;
  if (!lane) return NULL;
  lane->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (lane->socket < 0 || connect(lane->socket, (struct sockaddr *)&address, sizeof address)) return NULL;
  setsockopt(lane->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return lane;
}

/* Sends what is due over free lanes. Returns the nanoseconds until the next webhook, or -1
 * to wait for an answer. */
static int64_t send_due(struct load *load) {
  while (load->idle_count > 0 && load->next < load->count) {
    if (load->per_second > 0) {
      uint64_t now = now_ns(), at = due(load, load->next);
      if (at > now) return (int64_t)(at - now);
    }
    struct lane *lane = load->idle[--load->idle_count];
    if (!post(load, lane)) settle(load, lane, -1);
  }
  return -1;
}

static void run(struct load *load, int poll) {
  load->begin_ns = load->counts.first_ns = now_ns();
  while (load->answered < load->count && load->lanes > 0) {
    int64_t wait = send_due(load);
    struct timespec time = {wait / 1000000000, wait % 1000000000};
    struct epoll_event events[256];
    int count = epoll_pwait2(poll, events, 256, wait >= 0 ? &time : NULL, NULL);
    for (int i = 0; i < count; i++) {
      struct lane *lane = events[i].data.ptr;
      int status = answer(lane);
      if (status == 0) continue;
      if (status < 0) epoll_ctl(poll, EPOLL_CTL_DEL, lane->socket, NULL);
      settle(load, lane, status);
    }
  }
}

/* Chooses what to send: a webhook for so many devices, or a file's text with its header lines. */
static bool choose_body(struct load *load, int argc, char **argv) {
  strcpy(load->headers, "content-type: application/json\r\n");
  if (argv[6][0] != '@') return (load->devices = atoi(argv[6])) >= 1 && load->devices <= 1000;
  FILE *file = fopen(argv[6] + 1, "re");
  load->text = calloc(1, BODY_BYTES / 2);
  if (!file || !load->text || fread(load->text, 1, BODY_BYTES / 2 - 1, file) == 0) return false;
  fclose(file);
  char *header = load->headers;
  for (int i = 7; i < argc; i++)
    header += snprintf(header, (size_t)(load->headers + sizeof load->headers - header), "%s\r\n", argv[i]);
  return true;
}

int load_main(int argc, char **argv) {
  if (argc < 7) return fprintf(stderr, "usage: wire load PORT PATH CONNECTIONS COUNT PER_SECOND DEVICES|@FILE\n"), 64;
  struct load load = {.port = atoi(argv[1]),
                      .path = argv[2],
                      .lanes = strtoul(argv[3], NULL, 10),
                      .count = strtoull(argv[4], NULL, 10),
                      .per_second = atof(argv[5])};
  if (!choose_body(&load, argc, argv)) return fprintf(stderr, "wire load: %s is no body to send\n", argv[6]), 64;
  counts_begin(&load.counts, 1);
  load.idle = calloc(load.lanes, sizeof *load.idle);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (!load.idle || poll < 0) return 1;
  for (size_t i = 0; i < load.lanes; i++) {
    struct lane *lane = dial(load.port);
    if (!lane) return fprintf(stderr, "wire load: cannot connect to port %d\n", load.port), 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = lane};
    epoll_ctl(poll, EPOLL_CTL_ADD, lane->socket, &event);
    load.idle[load.idle_count++] = lane;
  }
  run(&load, poll);
  load.counts.requests = load.statuses[2];
  load.counts.wrong = load.count - load.statuses[2];
  if (load.counts.wrong)
    snprintf(load.counts.fault, sizeof load.counts.fault, "%llu were answered 503, %llu otherwise, %llu not at all",
        (unsigned long long)load.busy, (unsigned long long)(load.counts.wrong - load.busy - load.lost),
        (unsigned long long)load.lost);
  counts_report(&load.counts, stdout);
  return load.counts.wrong ? 1 : 0;
}
