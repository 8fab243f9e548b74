/* The part of libcurl that Swift cannot import: variadic functions. */
#ifndef SIGNALBOX_CCURL_H
#define SIGNALBOX_CCURL_H
#include <curl/curl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>

typedef size_t (*csbx_curl_bytes)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode csbx_curl_long(CURL *h, CURLoption o, long v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode csbx_curl_text(CURL *h, CURLoption o, const char *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode csbx_curl_list(CURL *h, struct curl_slist *v) { return curl_easy_setopt(h, CURLOPT_HTTPHEADER, v); }
static inline CURLcode csbx_curl_body(CURL *h, const char *bytes, size_t length) {
  CURLcode status = curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
  return status ? status : curl_easy_setopt(h, CURLOPT_COPYPOSTFIELDS, bytes);
}
static inline CURLcode csbx_curl_sinks(CURL *h, csbx_curl_bytes header, csbx_curl_bytes body, void *context) {
  curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, header);
  curl_easy_setopt(h, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, body);
  curl_easy_setopt(h, CURLOPT_WRITEDATA, context);
  return curl_easy_setopt(h, CURLOPT_PRIVATE, (char *)context);
}
static inline void *csbx_curl_context(CURL *h) {
  char *context = NULL;
  curl_easy_getinfo(h, CURLINFO_PRIVATE, &context);
  return context;
}
static inline long csbx_curl_status(CURL *h) {
  long status = 0;
  curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
  return status;
}
/* A certificate without a subjectAltName is for no host: libcurl would take its common name for one. */
static inline int csbx_curl_has_names(int is_trusted, X509_STORE_CTX *store) {
  if (!is_trusted || X509_STORE_CTX_get_error_depth(store) != 0) return is_trusted;
  if (X509_get_ext_by_NID(X509_STORE_CTX_get_current_cert(store), NID_subject_alt_name, -1) >= 0) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}
static inline CURLcode csbx_curl_set_up_tls(CURL *h, void *context, void *own) {
  (void)h;
  (void)own;
  SSL_CTX_set_verify((SSL_CTX *)context, SSL_VERIFY_PEER, csbx_curl_has_names);
  return CURLE_OK;
}
static inline CURLcode csbx_curl_names_required(CURL *h) {
  return curl_easy_setopt(h, CURLOPT_SSL_CTX_FUNCTION, csbx_curl_set_up_tls);
}
/* The answer to CONNECT; 0: there was none. */
static inline long csbx_curl_connect_status(CURL *h) {
  long status = 0;
  curl_easy_getinfo(h, CURLINFO_HTTP_CONNECTCODE, &status);
  return status;
}
/* The connection is made, so that the request may have left. */
static inline int csbx_curl_has_begun(CURL *h) {
  curl_off_t us = 0;
  return curl_easy_getinfo(h, CURLINFO_PRETRANSFER_TIME_T, &us) == CURLE_OK && us > 0;
}
static inline CURLcode csbx_curl_result(const CURLMsg *message) { return message->data.result; }

/* Is this an address that only nearby machines can reach? */
static inline int csbx_is_private_v4(const unsigned char *a) {
  return a[0] == 0 || a[0] == 10 || a[0] == 127 || a[0] >= 224 || (a[0] == 100 && (a[1] & 0xc0) == 64) ||
         (a[0] == 169 && a[1] == 254) || (a[0] == 172 && (a[1] & 0xf0) == 16) || (a[0] == 192 && a[1] == 168) ||
         (a[0] == 192 && a[1] == 0 && (a[2] == 0 || a[2] == 2)) || (a[0] == 192 && a[1] == 88 && a[2] == 99) ||
         (a[0] == 198 && (a[1] & 0xfe) == 18) || (a[0] == 198 && a[1] == 51 && a[2] == 100) ||
         (a[0] == 203 && a[1] == 0 && a[2] == 113);
}
static inline int csbx_is_private_v6(const unsigned char *a) {
  static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
  static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b};
  if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0) return csbx_is_private_v4(a + 12);
  /* Global addresses are in 2000::/3 alone. */
  if ((a[0] & 0xe0) != 0x20) return 1;
  if (a[0] == 0x20 && a[1] == 0x02) return 1;                        /* 6to4 leads to any IPv4 address */
  if (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0) return 1;  /* Teredo, ORCHID and others */
  if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8) return 1;
  return a[0] == 0x3f && a[1] == 0xff && (a[2] & 0xf0) == 0;
}
static inline int csbx_is_private(const struct sockaddr *address) {
  switch (address->sa_family) {
    case AF_INET: return csbx_is_private_v4((const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr);
    case AF_INET6: return csbx_is_private_v6((const unsigned char *)&((const struct sockaddr_in6 *)address)->sin6_addr);
    default: return 1;
  }
}
/* Programs started later do not inherit the socket. */
static inline curl_socket_t csbx_open_any(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context;
  (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
static inline CURLcode csbx_curl_close_on_exec(CURL *h) {
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, csbx_open_any);
}
/* Called after DNS, so that a name cannot lead to an address that was
 * checked under another name. *context becomes 1 if an address is refused. */
static inline curl_socket_t csbx_open_public(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  if (csbx_is_private(&address->addr)) {
    *(int *)context = 1;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
static inline CURLcode csbx_curl_public_only(CURL *h, int *has_refused) {
  /* A reused connection was not checked, and this one must not serve another call. */
  curl_easy_setopt(h, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(h, CURLOPT_FORBID_REUSE, 1L);
  curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, has_refused);
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, csbx_open_public);
}
/* The same in a client all of whose connections were checked, so that they can be used again. */
static inline CURLcode csbx_curl_public_pool(CURL *h, int *has_refused) {
  curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, has_refused);
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, csbx_open_public);
}
static inline CURLMcode csbx_curl_multi_idle_max(CURLM *m, long count) {
  return curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, count);
}
#endif
