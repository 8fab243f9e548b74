/* The parts of OpenSSL 3 that Swift cannot import: macros and variadic functions. */
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
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline int csbx_print_name(BIO *bio, const X509_NAME *name) { return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253); }
static inline EVP_PKEY *csbx_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *csbx_generate_rsa(size_t bits) { return EVP_RSA_gen(bits); }
static inline EVP_PKEY *csbx_generate_ed25519(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }
/* A number of a public key ("n", "e", "qx", "qy"), big endian, padded to `width` unless that is 0; -1 if there is none. */
static inline int csbx_public_number(const EVP_PKEY *key, const char *name, unsigned char *out, int width, int room) {
  BIGNUM *number = NULL;
  int length = -1;
  if (EVP_PKEY_get_bn_param(key, name, &number) == 1) {
    int size = width > 0 ? width : BN_num_bytes(number);
    if (size <= room) length = BN_bn2binpad(number, out, size);
  }
  BN_free(number);
  ERR_clear_error();
  return length;
}
/* Public keys from the numbers of a JWK, big endian; NULL if they form no key. */
static inline EVP_PKEY *csbx_public_key(const char *type, OSSL_PARAM *parameters) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
      EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
    key = NULL;
  EVP_PKEY_CTX_free(context);
  ERR_clear_error();
  return key;
}
static inline EVP_PKEY *csbx_rsa_public(const unsigned char *n, int n_length, const unsigned char *e, int e_length) {
  EVP_PKEY *key = NULL;
  BIGNUM *modulus = BN_bin2bn(n, n_length, NULL), *exponent = BN_bin2bn(e, e_length, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (modulus != NULL && exponent != NULL && builder != NULL && OSSL_PARAM_BLD_push_BN(builder, "n", modulus) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, "e", exponent) == 1) {
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    key = csbx_public_key("RSA", parameters);
    OSSL_PARAM_free(parameters);
  }
  OSSL_PARAM_BLD_free(builder);
  BN_free(modulus);
  BN_free(exponent);
  return key;
}
/* point: 0x04, then x and y with 32 bytes each. */
static inline EVP_PKEY *csbx_p256_public(const unsigned char *point) {
  char curve[] = "prime256v1";
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("group", curve, 0),
                             OSSL_PARAM_construct_octet_string("pub", (void *)(uintptr_t)point, 65), OSSL_PARAM_construct_end()};
  return csbx_public_key("EC", parameters);
}
/* A private key on P-256 from its number, 32 bytes big endian, with the public half that belongs to it. */
static inline EVP_PKEY *csbx_p256_private(const unsigned char *scalar) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  BIGNUM *number = BN_bin2bn(scalar, 32, NULL);
  EC_POINT *point = group == NULL ? NULL : EC_POINT_new(group);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  unsigned char public_point[65];
  if (context != NULL && number != NULL && point != NULL && builder != NULL && !BN_is_zero(number) &&
      BN_cmp(number, EC_GROUP_get0_order(group)) < 0 && EC_POINT_mul(group, point, number, NULL, NULL, NULL) == 1 &&
      EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, public_point, 65, NULL) == 65 &&
      OSSL_PARAM_BLD_push_utf8_string(builder, "group", "prime256v1", 0) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, "priv", number) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(builder, "pub", public_point, 65) == 1 && EVP_PKEY_fromdata_init(context) == 1) {
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    if (EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters) != 1) key = NULL;
    OSSL_PARAM_free(parameters);
  }
  OSSL_PARAM_BLD_free(builder);
  EC_POINT_free(point);
  EC_GROUP_free(group);
  BN_clear_free(number);
  EVP_PKEY_CTX_free(context);
  ERR_clear_error();
  return key;
}
static inline long csbx_bio_bytes(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }
static inline int csbx_pkey_is_p256(const EVP_PKEY *key) {
  char name[64];
  size_t length = 0;
  return EVP_PKEY_get_group_name(key, name, sizeof name, &length) == 1 && strcmp(name, "prime256v1") == 0;
}
static inline void csbx_set_issuer(X509V3_CTX *context, X509 *issuer, X509 *subject) {
  X509V3_set_ctx(context, issuer, subject, NULL, NULL, 0);
}

/* A separate library context that adds the ciphers of old tools (RC2, 3DES, RC4). It
 * opens PKCS#12 files made with them, and nothing else can choose these ciphers.
 * Created once and kept. */
static inline OSSL_LIB_CTX *csbx_legacy_context(void) {
  OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
  if (context == NULL) return NULL;
  if (OSSL_PROVIDER_load(context, "default") == NULL) {
    OSSL_LIB_CTX_free(context);
    return NULL;
  }
  (void)OSSL_PROVIDER_load(context, "legacy");
  return context;
}

/* 0: opened; 1: not PKCS#12; 2: wrong password; 3: a key or certificate is missing, or a
 * cipher is unavailable. */
static inline int csbx_open_p12(OSSL_LIB_CTX *context, const void *bytes, int length, const char *password, EVP_PKEY **key,
                                X509 **leaf, STACK_OF(X509) **others) {
  BIO *bio = BIO_new_mem_buf(bytes, length);
  PKCS12 *file = PKCS12_init_ex(NID_pkcs7_data, context, NULL);
  int result = 1;
  if (bio != NULL && file != NULL && d2i_PKCS12_bio(bio, &file) != NULL) {
    const char *opener = password;
    result = 2;
    int fits = PKCS12_verify_mac(file, opener, password == NULL ? 0 : -1);
    if (!fits && (password == NULL || *password == 0)) {
      /* Tools write "no password" in two ways. */
      opener = password == NULL ? "" : NULL;
      fits = PKCS12_verify_mac(file, opener, opener == NULL ? 0 : -1);
    }
    if (fits) result = PKCS12_parse(file, opener, key, leaf, others) == 1 && *key != NULL && *leaf != NULL ? 0 : 3;
  }
  PKCS12_free(file);
  BIO_free(bio);
  ERR_clear_error();
  return result;
}
static inline int csbx_chain_count(const STACK_OF(X509) *chain) { return chain == NULL ? 0 : sk_X509_num(chain); }
static inline X509 *csbx_chain_at(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }
static inline void csbx_chain_free(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }

/* Makes a PKCS#12 file with current ciphers or those of old tools (RC2 and 3DES); for tests. */
static inline int csbx_make_p12(OSSL_LIB_CTX *context, EVP_PKEY *key, X509 *leaf, const char *password, int legacy, BIO *out) {
  PKCS12 *file = PKCS12_create_ex(password, "push", key, leaf, NULL, legacy ? NID_pbe_WithSHA1And3_Key_TripleDES_CBC : 0,
                                  legacy ? NID_pbe_WithSHA1And40BitRC2_CBC : 0, 0, legacy ? 2048 : 0, 0, context, NULL);
  int result = file != NULL && i2d_PKCS12_bio(out, file) == 1;
  PKCS12_free(file);
  ERR_clear_error();
  return result;
}

/* TLS: what ssl.h offers only as macros. */
static inline int csbx_tls_settle(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}
static inline int csbx_tls_add_chain(SSL_CTX *context, X509 *issuer) { return SSL_CTX_add1_chain_cert(context, issuer) == 1; }
static inline void csbx_tls_session_cache(SSL_CTX *context, int mode) {
  SSL_CTX_set_session_cache_mode(context, mode | SSL_SESS_CACHE_NO_INTERNAL);
}
static inline int csbx_tls_set_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name) == 1; }
static inline int csbx_tls_choose(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                                  unsigned int offered_length, void *own) {
  unsigned char *found = NULL;
  const unsigned char *wire = (const unsigned char *)own;
  (void)ssl;
  if (SSL_select_next_proto(&found, length, wire, 1u + wire[0], offered, offered_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}
/* wire: one protocol after its length; the caller keeps it as long as the context. */
static inline int csbx_tls_offer(SSL_CTX *context, const unsigned char *wire, int is_server) {
  if (!is_server) return SSL_CTX_set_alpn_protos(context, wire, 1u + wire[0]) == 0;
  SSL_CTX_set_alpn_select_cb(context, csbx_tls_choose, (void *)(uintptr_t)wire);
  return 1;
}
#endif
