/* signalbox/service/sign.h - signatures with keys that stay in the host. */
#ifndef SIGNALBOX_SERVICE_SIGN_H
#define SIGNALBOX_SERVICE_SIGN_H
#include "../types.h"
struct sbx_host;

#define SBX_SIGN_ES256       1u  /* key: PEM (PKCS#8 or SEC 1) P-256; signature: raw r||s, 64 bytes */
#define SBX_SIGN_RS256       2u  /* key: PEM RSA, at least 2048 bits; PKCS#1 v1.5 */
#define SBX_SIGN_PS256       3u  /* key: PEM RSA; PSS, salt of 32 bytes */
#define SBX_SIGN_HMAC_SHA256 4u  /* key: the secret's bytes; signature: 32 bytes */
#define SBX_SIGN_HMAC_SHA1   5u  /* as above, 20 bytes: only for sources that ask for it */
#define SBX_SIGN_ED25519     6u  /* key: PEM (PKCS#8); signature: 64 bytes ("EdDSA" in a JWS). Since 1.1 */

/* Forms of a public key. Since 1.1 */
#define SBX_KEY_RAW 1u  /* P-256: 0x04, x, y (65 bytes); Ed25519: 32 bytes; RSA: none */
#define SBX_KEY_JWK 2u  /* JSON with the members of RFC 7638 in its order: the text's SHA-256 is the thumbprint */
#define SBX_KEY_PEM 3u  /* "BEGIN PUBLIC KEY" */

#define SBX_SVC_SIGN "sbx.sign/1"
typedef struct sbx_sign {
  uint32_t struct_size, reserved;
  /* Signs `data`. `key` names a secret of this instance; `pointer` is an RFC 6901 path into it when
   * the secret is a JSON document ("/private_key"), else empty. *len: capacity in, length out.
   * Statuses: OK, NOT_FOUND (no such secret or member), INVALID (not a key of that kind),
   * UNSUPPORTED (algorithm), TOO_LARGE (*len holds the required size). Thread: [any]. */
  sbx_status (*sign)(const struct sbx_host *host, uint32_t algorithm, sbx_str key, sbx_str pointer, sbx_str data,
                     void *signature, size_t *len, sbx_error *error);
  /* Checks an HMAC in constant time, or a signature by a public key. Besides the keys of sign(), `key`
   * may name PEM text with a public key ("BEGIN PUBLIC KEY") or a certificate, of which the first counts;
   * its validity and its issuer are not checked. Since 1.1, for signatures by a public key:
   * - The key may be a JWK, or a JWK set (RFC 7517): an RSA key, P-256 or Ed25519, not for encryption. `pointer` leads
   *   to a JWK in a document; "/keys/KID" is the key of a set whose "kid" is KID, else the one at that index. Of a set
   *   without a pointer, every key of the algorithm's kind is tried.
   * - `key` may be the public key itself in place of a name: PEM or JSON, told by "-----BEGIN " or "{".
   * Statuses: OK, AUTH (does not fit), and those of sign(). Thread: [any]. */
  sbx_status (*verify)(const struct sbx_host *host, uint32_t algorithm, sbx_str key, sbx_str pointer, sbx_str data,
                       sbx_str signature, sbx_error *error);
  /* The public half of a key of sign() in a form SBX_KEY_*, for those who check its signatures.
   * Statuses: OK, NOT_FOUND (no such secret or member), INVALID (not a private key), UNSUPPORTED (the key has no such
   * form), TOO_LARGE (*len holds the required size). Thread: [any]. Since 1.1. */
  sbx_status (*public_key)(const struct sbx_host *host, sbx_str key, sbx_str pointer, uint32_t form, void *buffer,
                           size_t *len, sbx_error *error);
} sbx_sign;

#endif
