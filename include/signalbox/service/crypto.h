/* signalbox/service/crypto.h - digests, keyed digests, derived keys, encryption and encodings. A key that is named
 * stays in the host; what is derived from it is the plugin's. Since 1.1. */
#ifndef SIGNALBOX_SERVICE_CRYPTO_H
#define SIGNALBOX_SERVICE_CRYPTO_H
#include "../types.h"
struct sbx_host;

#define SBX_HASH_SHA256 1u  /* 32 bytes */
#define SBX_HASH_SHA384 2u  /* 48 bytes */
#define SBX_HASH_SHA512 3u  /* 64 bytes */
#define SBX_HASH_SHA1   4u  /* 20 bytes: only for peers that ask for it */
#define SBX_HASH_MD5    5u  /* 16 bytes: as above */

#define SBX_TEXT_HEX       1u  /* lower case; either case is read */
#define SBX_TEXT_BASE64    2u  /* with padding; both alphabets are read, with or without padding */
#define SBX_TEXT_BASE64URL 3u  /* without padding; read as above */

/* A key: a secret of this instance, or bytes that the plugin has. */
typedef struct sbx_crypto_key {
  uint32_t struct_size;
  uint32_t text;    /* SBX_TEXT_*: the secret is text of this kind and is decoded first; 0: it is used as it is */
  sbx_str secret;   /* its name; empty: `bytes` is the key */
  sbx_str pointer;  /* as in sbx.sign/1 */
  sbx_str prefix;   /* stands before the secret in the key: "AWS4" */
  sbx_str bytes;    /* the key where no secret is named */
} sbx_crypto_key;

#define SBX_SVC_CRYPTO "sbx.crypto/1"
/* Where there is *len: capacity in, length out. Statuses of every function: OK; INVALID: an argument is malformed, or a
 * key has another form; UNSUPPORTED: no such SBX_HASH_* or SBX_TEXT_*; NOT_FOUND: no such secret or member; TOO_LARGE:
 * *len holds the required size; INTERNAL. Thread: [any], for all of this table. */
typedef struct sbx_crypto {
  uint32_t struct_size, reserved;
  /* Thread: [any]. Since 1.1. */
  sbx_status (*digest)(const struct sbx_host *host, uint32_t hash, sbx_str data, void *out, size_t *len);
  /* RFC 2104. Chains (AWS Signature Version 4) begin with a secret and go on with bytes. Thread: [any]. Since 1.1. */
  sbx_status (*hmac)(const struct sbx_host *host, uint32_t hash, const sbx_crypto_key *key, sbx_str data, void *out,
                     size_t *len, sbx_error *error);
  /* HKDF (RFC 5869), both steps: fills `length` bytes, at most 255 digests of the hash. Thread: [any]. Since 1.1. */
  sbx_status (*hkdf)(const struct sbx_host *host, uint32_t hash, const sbx_crypto_key *key, sbx_str salt, sbx_str info,
                     void *out, size_t length, sbx_error *error);
  /* ECDH on P-256 with the peer's point (0x04, x, y: 65 bytes). own: a private key, PEM or 32 bytes; NULL: a new one
   * for this call alone. public_point gets the 65 bytes of its public half, shared the 32 bytes of the secret: derive
   * keys from it, never use it as one. INVALID: `peer` is not a point of the curve. Thread: [any]. Since 1.1. */
  sbx_status (*agree)(const struct sbx_host *host, const sbx_crypto_key *own, sbx_str peer, void *public_point,
                      void *shared, sbx_error *error);
  /* AES-GCM with a key of 16 or 32 bytes and a nonce of 12, which must never come again with this key. `added` is
   * authenticated and not encrypted. out: as many bytes as `plain`, then the tag of 16. Thread: [any]. Since 1.1. */
  sbx_status (*seal)(const struct sbx_host *host, const sbx_crypto_key *key, sbx_str nonce, sbx_str added, sbx_str plain,
                     void *out, size_t *len, sbx_error *error);
  /* The reverse of seal(). AUTH: key, nonce, `added` or `sealed` do not fit each other. Thread: [any]. Since 1.1. */
  sbx_status (*open)(const struct sbx_host *host, const sbx_crypto_key *key, sbx_str nonce, sbx_str added, sbx_str sealed,
                     void *out, size_t *len, sbx_error *error);
  /* Bytes that nobody can guess, at most 64 KiB in one call. Thread: [any]. Since 1.1. */
  sbx_status (*random)(const struct sbx_host *host, void *out, size_t length);
  /* Bytes as text of a kind SBX_TEXT_*. Thread: [any]. Since 1.1. */
  sbx_status (*encode)(const struct sbx_host *host, uint32_t text, sbx_str bytes, void *out, size_t *len);
  /* The reverse. INVALID: it is not text of that kind. Thread: [any]. Since 1.1. */
  sbx_status (*decode)(const struct sbx_host *host, uint32_t text, sbx_str given, void *out, size_t *len);
} sbx_crypto;

#endif
