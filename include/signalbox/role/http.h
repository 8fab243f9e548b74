/* signalbox/role/http.h - the HTTP nouns of the translating roles (send-http, register). Not a
 * role by itself. The host owns sockets, TLS, pools, HTTP/2 streams, timeouts and retries. */
#ifndef SIGNALBOX_ROLE_HTTP_H
#define SIGNALBOX_ROLE_HTTP_H
#include "../model.h"

/* Where requests of an app go. Filled by the plugin, which owns the text until destroy(). The host
 * zeroes it and sets struct_size first; a field left zero takes the default. */
#define SBX_ENDPOINT_ALPN_REQUIRED 1u      /* refuse a peer that does not answer "h2" (else its silence is tolerated) */
#define SBX_ENDPOINT_ONE_STREAM_FIRST 2u   /* one request at a time on a connection until its first 2xx (APNs, token auth) */
#define SBX_ENDPOINT_AT_MOST_ONCE 4u       /* a request whose fate is unknown is a dead letter, not a retry */
#define SBX_ENDPOINT_REST 8u               /* over a pool that also speaks HTTP/1.1 and has connections to other origins: without
                                              a client certificate, and the pings, streams and connect_timeout_ms are its own.
                                              Since 1.1 */
#define SBX_ENDPOINT_PRIVATE_ORIGINS 16u   /* requests may also name origins on private networks. Since 1.1 */
#define SBX_ENDPOINT_SHARED 32u            /* apps with this and an equal endpoint share connections, on which requests go in their order;
                                              for the apps of one credential. Since 1.1 */
typedef struct sbx_endpoint {
  uint32_t struct_size, flags;      /* SBX_ENDPOINT_* */
  sbx_str origin;                   /* "https://api.push.apple.com:443" */
  sbx_str ca_file;                  /* PEM file of trusted roots; empty: the system's */
  sbx_str client_certificate;       /* name of a secret (PEM chain or PKCS#12), empty: none */
  sbx_str client_key;               /* name of a secret (PEM); empty: it is in client_certificate */
  uint32_t request_timeout_ms;      /* default 10,000 */
  uint32_t connect_timeout_ms;      /* default 10,000: TCP, TLS and the peer's SETTINGS together */
  uint32_t ping_idle_ms;            /* PING after so long without traffic; 0: never while idle */
  uint32_t ping_timeout_ms;         /* a connection that owes a PING answer so long is dead; default 10,000 */
  uint32_t connections_max;         /* default 2; with SBX_ENDPOINT_REST: requests at a time, default 32 */
  uint32_t streams_max;             /* own cap below the peer's SETTINGS; 0: none */
  sbx_str client_password;          /* name of a secret that opens client_certificate or client_key; empty: none */
} sbx_endpoint;

/* One request, written by the plugin. The host copies all of it before request() returns. At most 1 MiB in all, a method of
 * 32 bytes, 64 KiB of path and headers, 1,000 headers and 10,000 segments of the body. */
typedef struct sbx_http_request {
  uint32_t struct_size, reserved;
  sbx_str method, path;             /* path begins with "/"; the plugin has percent-encoded it */
  const sbx_kv *headers;            /* names in lower case; host, content-length and te are the host's */
  size_t header_count;
  const sbx_str *body;              /* segments, sent one after the other: {prefix, token, suffix} */
  size_t body_segments;
  const uint64_t *items;            /* the deliveries or changes it stands for; at least one */
  size_t item_count;
  uint64_t unindexed_headers;       /* bit i: headers[i] differs from request to request (an id, an expiry), so the
                                       peer's HPACK table does not keep it; for the first 64 headers. Since 1.1 */
  sbx_str origin;                   /* "https://push.example.org", in place of the endpoint's, which has SBX_ENDPOINT_REST;
                                       empty: the endpoint's. At most 300 bytes. It may come from data: https alone, and
                                       public addresses alone unless the endpoint allows others. That it fails says nothing
                                       about other origins. Since 1.1 */
  sbx_str context;                  /* at most 256 bytes that come back in the response. Owner: the host, which copies them
                                       and drops them if there is no response: the request is prepared again. Since 1.1 */
} sbx_http_request;

/* One answer: at most 1 MiB of body and, by HTTP/2, 64 headers. Only real answers arrive: refused streams
 * are moved and broken connections are retried by the host, so that no plugin has to know how. */
typedef struct sbx_http_response {
  uint32_t struct_size, http_status;
  sbx_str app;                      /* as given to prepare() */
  const sbx_kv *headers;            /* names in lower case */
  size_t header_count;
  sbx_str body;
  const uint64_t *items;
  size_t item_count;
  sbx_str context;                  /* of the request. Since 1.1 */
  uint64_t trailer_count;           /* so many of `headers`, the last ones, came after the body. Since 1.1 */
} sbx_http_response;

/* Where a translator writes. Owner: the host. Lifetime: valid during prepare() or classify() only. */
typedef struct sbx_http_sink {
  uint32_t struct_size, reserved;
  void *state;
  /* Send these. Statuses: OK; INVALID: malformed, over a bound, an item is unknown, or it was already taken
   * care of in this call (nothing of the array is taken; the host logs why).
   * Thread: that of the role call. Since 1.0. */
  sbx_status (*request)(struct sbx_http_sink *sink, const sbx_http_request *requests, size_t n, size_t stride);
  /* These are decided: from a response, or without a request (too large, malformed token).
   * Statuses: as request(). Thread: that of the role call. Since 1.0. */
  sbx_status (*settle)(struct sbx_http_sink *sink, const sbx_outcome *outcomes, size_t n, size_t stride);
} sbx_http_sink;

#endif
