#include "connection.h"
#include "check.h"
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES (256 * 1024)

struct stream {
  struct push push;
  struct stream *next;
};

struct connection {
  int socket;
  SSL *ssl;
  nghttp2_session *session;
  struct counts *counts;
  struct stream *spare;
  uint8_t *out;
  size_t out_used, out_sent;
  uint32_t streams_max;
};

static struct stream *take(struct connection *c) {
  struct stream *stream = c->spare;
  if (stream) c->spare = stream->next;
  else stream = malloc(sizeof *stream);
  if (stream) memset(stream, 0, sizeof *stream);
  return stream;
}

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
  struct stream *stream = take(user);
  if (!stream) return NGHTTP2_ERR_CALLBACK_FAILURE;
  nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
  return 0;
}

static int header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                  const uint8_t *value, size_t length, uint8_t flags, void *user) {
  (void)flags, (void)user;
  struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (stream) check_field(&stream->push, name, name_length, value, length);
  return 0;
}

static int body(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t length, void *user) {
  (void)flags;
  struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
  if (stream) check_body(&stream->push, bytes, length);
  ((struct connection *)user)->counts->bytes += length;
  return 0;
}

static void ended(struct connection *c, int32_t id, struct stream *stream) {
  uint64_t at = now_ns();
  struct counts *counts = c->counts;
  if (counts->requests++ == 0) counts->first_ns = at;
  counts->last_ns = at;
  const char *wrong = check_end(&stream->push);
  if (wrong) counts_wrong(counts, wrong);
  else counts_number(counts, stream->push.number);
  if (stream->push.sent_ns) counts_latency(counts, stream->push.sent_ns, at);
  static uint8_t status[] = ":status", ok[] = "200", bad[] = "400", name[] = "apns-id",
                 value[] = "8f1c8a1e-0d5a-4b7e-9c53-2f6d8e4b7a10";
  const uint8_t in_place = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  nghttp2_nv fields[] = {
      {status, wrong ? bad : ok, sizeof status - 1, 3, in_place},
      {name, value, sizeof name - 1, sizeof value - 1, in_place},
  };
  nghttp2_submit_response(c->session, id, fields, 2, NULL);
}

static int frame_in(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
  if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
      frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream) ended(user, frame->hd.stream_id, stream);
  }
  return 0;
}

static int closed(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
  (void)code;
  struct connection *c = user;
  struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
  if (!stream) return 0;
  nghttp2_session_set_stream_user_data(session, id, NULL);
  stream->next = c->spare;
  c->spare = stream;
  return 0;
}

static bool begin_session(struct connection *c) {
  nghttp2_session_callbacks *callbacks;
  if (nghttp2_session_callbacks_new(&callbacks)) return false;
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, body);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_in);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
  int failed = nghttp2_session_server_new(&c->session, callbacks, c);
  nghttp2_session_callbacks_del(callbacks);
  if (failed) return false;
  nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20},
  };
  nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 2);
  nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, 64 << 20);
  return true;
}

struct connection *connection_open(int socket, SSL_CTX *tls, struct counts *counts, uint32_t streams_max) {
  struct connection *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->socket = socket;
  c->counts = counts;
  c->streams_max = streams_max;
  c->out = malloc(OUT_BYTES);
  c->ssl = SSL_new(tls);
  if (!c->out || !c->ssl) {
    connection_close(c);
    return NULL;
  }
  SSL_set_fd(c->ssl, socket);
  SSL_set_accept_state(c->ssl);
  counts->connections++;
  return c;
}

/* Returns false if the peer is gone or violates the protocol. */
static bool read_all(struct connection *c) {
  static uint8_t bytes[256 * 1024];
  for (;;) {
    ERR_clear_error();
    int count = SSL_read(c->ssl, bytes, sizeof bytes);
    if (count <= 0) {
      int why = SSL_get_error(c->ssl, count);
      return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    if (!c->session && !begin_session(c)) return false;
    if (nghttp2_session_mem_recv(c->session, bytes, (size_t)count) < 0) return false;
  }
}

/* Fills the buffer with everything the session has to send, and writes it at once. */
static bool write_all(struct connection *c) {
  for (;;) {
    if (c->out_sent == c->out_used) {
      c->out_sent = c->out_used = 0;
      while (OUT_BYTES - c->out_used > 32 * 1024) {
        const uint8_t *bytes;
        ssize_t count = nghttp2_session_mem_send(c->session, &bytes);
        if (count < 0) return false;
        if (count == 0) break;
        memcpy(c->out + c->out_used, bytes, (size_t)count);
        c->out_used += (size_t)count;
      }
      if (c->out_used == 0) return true;
    }
    ERR_clear_error();
    int sent = SSL_write(c->ssl, c->out + c->out_sent, (int)(c->out_used - c->out_sent));
    if (sent <= 0) {
      int why = SSL_get_error(c->ssl, sent);
      return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ;
    }
    c->out_sent += (size_t)sent;
  }
}

bool connection_work(struct connection *c) {
  if (!read_all(c)) return false;
  if (!c->session) {
    if (!SSL_is_init_finished(c->ssl)) return true;
    if (!begin_session(c)) return false;
  }
  if (!write_all(c)) return false;
  return nghttp2_session_want_read(c->session) || nghttp2_session_want_write(c->session);
}

bool connection_wants_write(const struct connection *c) { return c->out_sent < c->out_used; }

int connection_socket(const struct connection *c) { return c->socket; }

void connection_close(struct connection *c) {
  /* Open streams end with the session; their memory is freed when the process exits. */
  if (c->session) nghttp2_session_del(c->session);
  if (c->ssl) SSL_free(c->ssl);
  while (c->spare) {
    struct stream *stream = c->spare;
    c->spare = stream->next;
    free(stream);
  }
  close(c->socket);
  free(c->out);
  free(c);
}
