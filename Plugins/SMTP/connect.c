/* connect.c - handles of libcurl that reach the mail server and no other: sockets, TLS, names, the login. */
#include "instance.h"

#include <arpa/inet.h>
#include <errno.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_local(const struct sockaddr *peer) {
  if (peer->sa_family == AF_INET) return ntohl(((const struct sockaddr_in *)peer)->sin_addr.s_addr) >> 24 == 127;
  return peer->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)peer)->sin6_addr);
}

/* Sockets are kept, so that a stop can end what waits on them. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  smtp_session *s = context;
  sbx_instance *i = s->instance;
  int found = -1, fd = CURL_SOCKET_BAD;
  (void)purpose;
  /* The name in the config may resolve to any address. */
  if (i->config.login && i->config.security == SMTP_NONE && !is_local(&address->addr)) {
    smtp_give(s, smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, "login_in_the_clear",
                             "without TLS, the login is sent to this machine alone"));
    return CURL_SOCKET_BAD;
  }
  pthread_mutex_lock(&i->lock);
  for (int k = 0; k < 4; k++)
    if (!s->sockets[k]) found = k;
  if (s->may_connect && found >= 0 && i->phase != SMTP_ABORTED) {
    fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    s->socket_error = fd < 0 ? errno : 0;
  }
  if (fd >= 0) s->sockets[found] = fd;
  pthread_mutex_unlock(&i->lock);
  return fd;
}

static int close_socket(void *context, curl_socket_t fd) {
  smtp_session *s = context;
  sbx_instance *i = s->instance;
  pthread_mutex_lock(&i->lock);
  for (int k = 0; k < 4; k++)
    if (s->sockets[k] == fd) s->sockets[k] = 0;
  if (s->is_open) {
    i->connected--;
    /* Wake the workers that left the work to this connection. */
    pthread_cond_broadcast(&i->changed);
  }
  s->is_open = false;
  pthread_mutex_unlock(&i->lock);
  return close(fd);
}

/* OpenSSL checks the name as well: libcurl would accept a common name, and partial wildcards. */
static CURLcode set_up_tls(CURL *curl, void *tls, void *context) {
  const smtp_session *s = context;
  const char *host = s->instance->config.host;
  X509_VERIFY_PARAM *param = SSL_CTX_get0_param(tls);
  (void)curl;
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool is_set = X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 || X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
  return is_set ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/* libcurl waits for the answer to QUIT, by itself for two minutes; now it reads the end at once. */
void smtp_end_reading(smtp_session *s) {
  pthread_mutex_lock(&s->instance->lock);
  for (int k = 0; k < 4; k++)
    if (s->sockets[k]) shutdown(s->sockets[k], SHUT_RD);
  pthread_mutex_unlock(&s->instance->lock);
}

/* The first address of an interface that is up; in brackets, for a URL's path. */
static void own_address(char *out, size_t room) {
  struct ifaddrs *all = NULL;
  char text[INET6_ADDRSTRLEN] = "127.0.0.1";
  bool is_v6 = false;
  if (getifaddrs(&all)) all = NULL;
  for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || one->ifa_flags & IFF_LOOPBACK) continue;
    int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    is_v6 = family == AF_INET6;
    inet_ntop(family, is_v6 ? (const void *)&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr
                            : (const void *)&((struct sockaddr_in *)one->ifa_addr)->sin_addr, text, sizeof text);
    if (!is_v6) break;
  }
  if (all) freeifaddrs(all);
  snprintf(out, room, "%%5B%s%s%%5D", is_v6 ? "IPv6:" : "", text);
}

/* The path is the name in EHLO: the configured one, a valid host name, or the address. */
static void write_url(char *out, size_t room, const smtp_config *config) {
  char name[256] = "";
  snprintf(name, sizeof name, "%s", config->helo);
  if (!name[0] && gethostname(name, sizeof name - 1)) name[0] = 0;
  sbx_str host = sbx_text(config->host);
  bool is_name = strchr(name, '.') && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")
                                        == strlen(name);
  if (!config->helo[0] && !is_name) own_address(name, sizeof name);
  bool is_v6 = memchr(host.ptr, ':', host.len);
  snprintf(out, room, "smtp%s://%s%s%s:%u/%s", config->security == SMTP_TLS ? "s" : "", is_v6 ? "[" : "", host.ptr,
           is_v6 ? "]" : "", config->port, name);
}

bool smtp_handle_make(smtp_session *s) {
  const smtp_config *config = &s->instance->config;
  char url[600];
  bool is_set = true;
  s->curl = curl_easy_init();
  if (!s->curl) return false;
  write_url(url, sizeof url, config);
  SMTP_SET(CURLOPT_URL, url);
  SMTP_SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  SMTP_SET(CURLOPT_PROXY, "");  /* also none of the environment's */
  SMTP_SET(CURLOPT_NOSIGNAL, 1L);
  SMTP_SET(CURLOPT_USE_SSL, (long)(config->security == SMTP_STARTTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE));
  SMTP_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  SMTP_SET(CURLOPT_SSL_CTX_FUNCTION, set_up_tls);
  SMTP_SET(CURLOPT_SSL_CTX_DATA, s);
  if (config->ca_file[0]) SMTP_SET(CURLOPT_CAINFO, config->ca_file);
  SMTP_SET(CURLOPT_CONNECTTIMEOUT_MS, (long)config->timeout_ms * SMTP_STEPS_TO_CONNECT);
  SMTP_SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  SMTP_SET(CURLOPT_OPENSOCKETDATA, s);
  SMTP_SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  SMTP_SET(CURLOPT_CLOSESOCKETDATA, s);
#if LIBCURL_VERSION_NUM >= 0x075700
  SMTP_SET(CURLOPT_QUICK_EXIT, 1L);  /* a lookup that hangs ends by itself, later */
#endif
  return is_set;
}

smtp_verdict smtp_log_in(smtp_session *s) {
  sbx_instance *i = s->instance;
  char secret[SMTP_SECRET_MAX + 1];
  size_t len = SMTP_SECRET_MAX;
  smtp_verdict fault = smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "ok", "");
  bool is_password = i->config.login == SMTP_PASSWORD, is_set = true;
  pthread_mutex_lock(&i->lock);
  s->logins = i->logins;
  pthread_mutex_unlock(&i->lock);
  if (!i->config.login) return fault;
  if (i->config.login == SMTP_OAUTH) {
    if (!smtp_oauth_token(i, secret, s->job->give_up_ns, &fault)) return fault;
    len = strlen(secret);
  } else {
    sbx_str name = is_password ? SBX_STR("password") : SBX_STR("bearer_token");
    if (i->secrets->get(i->host, name, secret, &len) != SBX_OK) len = 0;
  }
  /* An editor ends a file with a line end, which no token has. */
  while (!is_password && len && (secret[len - 1] == '\n' || secret[len - 1] == '\r')) len--;
  if (!len || memchr(secret, 0, len)) {
    fault = smtp_decide(SBX_OUTCOME_CONFIG, SBX_SCOPE_INSTANCE, "password_unusable", "it is too long, or has a NUL in it");
  } else {
    secret[len] = 0;
    SMTP_SET(CURLOPT_USERNAME, i->config.username);
    SMTP_SET(CURLOPT_LOGIN_OPTIONS, is_password ? "AUTH=PLAIN;AUTH=LOGIN" : "AUTH=OAUTHBEARER;AUTH=XOAUTH2");
    if (is_password) SMTP_SET(CURLOPT_PASSWORD, secret);
    else SMTP_SET(CURLOPT_XOAUTH2_BEARER, secret);
    if (!is_set) fault = smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_ITEM, "no_memory", "");
  }
  explicit_bzero(secret, sizeof secret);
  return fault;
}
