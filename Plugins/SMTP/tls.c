/* tls.c - the TLS part of transport.h. */
#include "transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

/* OpenSSL's own socket BIO uses write(), so a closed peer would raise SIGPIPE in a process
 * that is not ours. */
static int bio_write(BIO *bio, const char *bytes, int len) {
  const int *fd = BIO_get_data(bio);
  ssize_t wrote = send(*fd, bytes, (size_t)len, MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_write(bio);
  return (int)wrote;
}

static int bio_read(BIO *bio, char *bytes, int len) {
  const int *fd = BIO_get_data(bio);
  ssize_t got = recv(*fd, bytes, (size_t)len, 0);
  BIO_clear_retry_flags(bio);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_read(bio);
  return (int)got;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD *smtp_bio_make(void) {
  BIO_METHOD *bio = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "smtp");
  if (!bio) return NULL;
  BIO_meth_set_write(bio, bio_write);
  BIO_meth_set_read(bio, bio_read);
  BIO_meth_set_ctrl(bio, bio_control);
  BIO_meth_set_create(bio, bio_create);
  return bio;
}

SSL_CTX *smtp_tls_make(const char *ca_file) {
  SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
  if (!tls) return NULL;
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  int is_loaded = ca_file[0] ? SSL_CTX_load_verify_locations(tls, ca_file, NULL) : SSL_CTX_set_default_verify_paths(tls);
  if (is_loaded == 1) return tls;
  ERR_clear_error();
  SSL_CTX_free(tls);
  return NULL;
}

/* Sets the expected peer. Names go into the SNI extension, addresses must not. */
static bool expect(SSL *ssl, const char *host) {
  unsigned char address[16];
  if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

smtp_io smtp_link_secure(smtp_link *link, SSL_CTX *tls, BIO_METHOD *method, const char *host, uint64_t deadline_ns) {
  BIO *bio = BIO_new(method);
  link->ssl = SSL_new(tls);
  if (!bio || !link->ssl || !expect(link->ssl, host)) {
    BIO_free(bio);
    ERR_clear_error();
    return SMTP_IO_HANDSHAKE;
  }
  BIO_set_data(bio, &link->fd);
  SSL_set_bio(link->ssl, bio, bio);
  for (;;) {
    ERR_clear_error();
    int result = SSL_connect(link->ssl);
    if (result == 1) return SMTP_IO_OK;
    int why = SSL_get_error(link->ssl, result);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
      ERR_clear_error();
      return SSL_get_verify_result(link->ssl) == X509_V_OK ? SMTP_IO_HANDSHAKE : SMTP_IO_UNTRUSTED;
    }
    smtp_io io = smtp_link_wait(link, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline_ns);
    if (io != SMTP_IO_OK) return io;
  }
}
