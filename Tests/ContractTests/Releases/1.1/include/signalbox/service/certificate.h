/* signalbox/service/certificate.h - what a certificate says, for plugins that log in with one. */
#ifndef SIGNALBOX_SERVICE_CERTIFICATE_H
#define SIGNALBOX_SERVICE_CERTIFICATE_H
#include "../types.h"
struct sbx_host;

/* An X.509 extension: "1.2.840.113635.100.6.3.6" and the DER of its value. Frozen. */
typedef struct sbx_certificate_extension {
  sbx_str oid, der;
} sbx_certificate_extension;

/* Owner: the host. Lifetime: until the role call (or control call) returns. */
typedef struct sbx_certificate {
  uint32_t struct_size, reserved;
  sbx_str subject;               /* "CN=Apple Push Services: com.example.app,..." */
  sbx_str user_id;               /* the subject's UID, often a bundle id; may be empty */
  int64_t not_before_unix_s, not_after_unix_s;
  const sbx_certificate_extension *extensions;
  size_t extension_count;
} sbx_certificate;

#define SBX_SVC_CERTIFICATE "sbx.certificate/1"
typedef struct sbx_certificates {
  uint32_t struct_size, reserved;
  /* Reads the leaf of a secret that holds PEM or PKCS#12; `password` names the secret that opens a
   * PKCS#12 file, or is empty.
   * Statuses: OK, NOT_FOUND (no such secret), INVALID (neither form, or a wrong password; error->message
   * says which). Thread: [control] or a role call's. Since 1.0. */
  sbx_status (*read)(const struct sbx_host *host, sbx_str secret, sbx_str password, const sbx_certificate **certificate,
                     sbx_error *error);
} sbx_certificates;

#endif
