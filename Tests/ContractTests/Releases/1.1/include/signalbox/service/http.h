/* signalbox/service/http.h - ordinary REST calls (OAuth, a vendor's API): HTTP/1.1 or 2, proxies,
 * TLS by the host. Not for pushes: those are the role send-http. */
#ifndef SIGNALBOX_SERVICE_HTTP_H
#define SIGNALBOX_SERVICE_HTTP_H
#include "../types.h"
struct sbx_host;

#define SBX_HTTP_NO_PRIVATE 1u  /* refuse loopback, link-local and private addresses, after DNS */
typedef struct sbx_http_call {
  uint32_t struct_size, flags;   /* SBX_HTTP_* */
  sbx_str method, url;           /* absolute; "https" unless the config says otherwise */
  const sbx_kv *headers;
  size_t header_count;
  sbx_str body;
  sbx_str ca_file;               /* PEM file of trusted roots; empty: the system's */
  uint32_t timeout_ms;           /* for all of it; 0: 10,000 */
  uint32_t redirects_max;        /* 0: none is followed */
} sbx_http_call;

/* status: OK (there is an http_status), UNREACHABLE, TIMEOUT, LOST, TOO_LARGE (answer over 1 MiB). */
typedef struct sbx_http_answer {
  uint32_t struct_size;
  sbx_status status;
  uint32_t http_status, reserved;
  const sbx_kv *headers;         /* names in lower case */
  size_t header_count;
  sbx_str body;
} sbx_http_answer;

/* The answer is borrowed until it returns. Thread: [worker] after submit(), the caller's in call(). */
typedef void (*sbx_http_done)(void *context, const sbx_http_answer *answer);

#define SBX_SVC_HTTP "sbx.http/1"
typedef struct sbx_http {
  uint32_t struct_size, reserved;
  /* Starts a call; it is copied. done is called exactly once after OK and never after another status.
   * Statuses: OK, INVALID, AGAIN (256 calls of the instance, or 128 to one host, are open), STOPPING. Thread: [any]. */
  sbx_status (*submit)(const struct sbx_host *host, const sbx_http_call *call, sbx_http_done done, void *context);
  /* The same, and waits: done is called before it returns. Thread: [control] only. */
  sbx_status (*call)(const struct sbx_host *host, const sbx_http_call *call, sbx_http_done done, void *context);
} sbx_http;

#endif
