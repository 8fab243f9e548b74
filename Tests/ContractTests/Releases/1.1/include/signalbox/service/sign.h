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
   * its validity and its issuer are not checked.
   * Statuses: OK, AUTH (does not fit), and those of sign(). Thread: [any]. */
  sbx_status (*verify)(const struct sbx_host *host, uint32_t algorithm, sbx_str key, sbx_str pointer, sbx_str data,
                       sbx_str signature, sbx_error *error);
} sbx_sign;

#endif
