/* sbx.sign/1 with a signature that is always the same, and sbx.credential/1 with one refresh after start. */
#include "host.h"

static struct {
  sbx_str name, value;
  sbx_status (*refresh)(sbx_instance *, sbx_str, sbx_error *);
} credentials[8];
static size_t count, refreshed;

static sbx_status sign(const sbx_host *host, uint32_t algorithm, sbx_str key, sbx_str pointer, sbx_str data,
                       void *signature, size_t *len, sbx_error *error) {
  (void)host, (void)key, (void)pointer, (void)data, (void)error;
  if (algorithm != SBX_SIGN_ES256) return SBX_E_UNSUPPORTED;
  if (*len < 64) return SBX_E_TOO_LARGE;
  memset(signature, 's', 64);
  *len = 64;
  return SBX_OK;
}

static sbx_status verify(const sbx_host *host, uint32_t algorithm, sbx_str key, sbx_str pointer, sbx_str data,
                         sbx_str signature, sbx_error *error) {
  (void)host, (void)algorithm, (void)key, (void)pointer, (void)data, (void)signature, (void)error;
  return SBX_E_AUTH;
}

static size_t place(sbx_str name) {
  size_t i = 0;
  while (i < count && (credentials[i].name.len != name.len || memcmp(credentials[i].name.ptr, name.ptr, name.len))) i++;
  return i;
}

static sbx_status define(const sbx_host *host, sbx_str name, uint64_t min_interval_ms,
                         sbx_status (*refresh)(sbx_instance *, sbx_str, sbx_error *)) {
  (void)host, (void)min_interval_ms;
  if (count == sizeof credentials / sizeof *credentials) return SBX_E_INVALID;
  credentials[count].refresh = refresh;
  credentials[count++].name = keep(name);
  return SBX_OK;
}

static sbx_status set(const sbx_host *host, sbx_str name, sbx_str value, uint64_t refresh_ms, uint64_t expires_ms) {
  (void)host;
  size_t i = place(name);
  if (i == count) return SBX_E_NOT_FOUND;
  credentials[i].value = keep(value);
  printf("credential %.*s: refresh after %lld s, expires after %lld s\n", ARG(name),
         ((long long)refresh_ms - NOW_MS) / 1000, ((long long)expires_ms - NOW_MS) / 1000);
  return SBX_OK;
}

static sbx_status get(const sbx_host *host, sbx_str name, sbx_str *value) {
  (void)host;
  size_t i = place(name);
  if (i == count) return SBX_E_NOT_FOUND;
  if (credentials[i].value.len == 0) return SBX_E_AGAIN;
  *value = edge_text(credentials[i].value);
  return SBX_OK;
}

void refresh_credentials(struct run *run) {
  for (; refreshed < count; refreshed++) {
    sbx_error *error = edge_error();
    sbx_status status = credentials[refreshed].refresh(run->instance, edge_text(credentials[refreshed].name), error);
    if (status != SBX_OK) print_fault("refresh", status, error);
    edge_release();
  }
}

const void *sign_service(void) { TABLE(sbx_sign, .sign = sign, .verify = verify); }
const void *credential_service(void) { TABLE(sbx_credential, .define = define, .set = set, .get = get); }
