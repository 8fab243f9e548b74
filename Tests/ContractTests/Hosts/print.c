/* The transcript: one line for everything that a plugin produces. */
#include "host.h"

void die(const char *words) {
  printf("host: %s\n", words);
  exit(1);
}

void print_fault(const char *what, sbx_status status, const sbx_error *error) {
  static const char *const words[] = {"ok", "internal", "version", "invalid", "unsupported", "again", "timeout",
                                      "auth", "notFound", "tooLarge", "unreachable", "lost", "stopping"};
  size_t index = (size_t)-status;
  printf("%s failed %s: %s\n", what, index < sizeof words / sizeof *words ? words[index] : "unknown", error->message);
}

void print_pairs(const char *name, const sbx_kv *pairs, size_t n) {
  printf(" %s=", name);
  for (size_t i = 0; i < n; i++)
    printf("%s%.*s:%.*s", i ? "," : "", ARG(pairs[i].key), ARG(pairs[i].value));
}

void print_device(const char *what, const sbx_device *d) {
  printf("%s app=%.*s platform=%.*s provider=%.*s token=%.*s source=%.*s user=%.*s locale=%.*s registered=%llu", what,
         ARG(d->app), ARG(d->platform), ARG(d->provider), ARG(d->token), ARG(d->source_token), ARG(d->user),
         ARG(d->locale), (unsigned long long)d->registered_unix_ms);
  print_pairs("attributes", d->attributes, d->attribute_count);
}

void print_outcomes(const sbx_outcome *outcomes, size_t n, size_t stride) {
  for (size_t k = 0; k < n; k++) {
    TAKE(sbx_outcome, o, SBX_AT(sbx_outcome, outcomes, k, stride));
    printf("outcome item=%llu kind=%u scope=%u reconnect=%u retry=%llu gone=%llu code=%u reason=%.*s detail=%.*s "
           "provider=%.*s token=%.*s credential=%.*s\n", (unsigned long long)o.item, o.kind, o.scope,
           o.flags & SBX_OUTCOME_RECONNECT, (unsigned long long)o.retry_after_ms,
           (unsigned long long)o.gone_since_unix_ms, o.provider_code, ARG(o.reason), ARG(o.detail), ARG(o.provider_id),
           ARG(o.new_token), ARG(o.credential));
  }
}
