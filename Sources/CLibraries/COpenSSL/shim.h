/* What Swift cannot import of OpenSSL 3: macros and variadic functions. */
#ifndef SIGNALBOX_COPENSSL_H
#define SIGNALBOX_COPENSSL_H
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline EVP_PKEY *csbx_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *csbx_generate_rsa(size_t bits) { return EVP_RSA_gen(bits); }
static inline long csbx_bio_bytes(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }
static inline int csbx_pkey_is_p256(const EVP_PKEY *key) {
  char name[64];
  size_t length = 0;
  return EVP_PKEY_get_group_name(key, name, sizeof name, &length) == 1 && strcmp(name, "prime256v1") == 0;
}
static inline void csbx_set_issuer(X509V3_CTX *context, X509 *issuer, X509 *subject) {
  X509V3_set_ctx(context, issuer, subject, NULL, NULL, 0);
}
#endif
