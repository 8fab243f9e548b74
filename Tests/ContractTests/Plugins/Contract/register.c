/* Reports dead iOS devices in one request; others do not concern this source. */
#include "contract.h"

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *out, sbx_error *error) {
  (void)i, (void)app, (void)error;
  SEE(out);
  out->origin = STR("https://devices.example");
  out->flags = SBX_ENDPOINT_AT_MOST_ONCE | SBX_ENDPOINT_ALPN_REQUIRED;
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_change *changes, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  sbx_outcome outcomes[ITEMS_MAX];
  uint64_t items[ITEMS_MAX];
  sbx_str lines[ITEMS_MAX];
  char texts[ITEMS_MAX][128];
  sbx_status status;
  size_t told = 0, settled = 0;
  (void)i, (void)app, (void)error;
  SEE(sink);
  for (size_t k = 0; k < n && k < ITEMS_MAX; k++) {
    const sbx_change *one = SBX_AT(sbx_change, changes, k, stride);
    SEE(one);
    SEE(one->device);
    if (!is(one->device->platform, "ios")) {
      outcomes[settled] = (sbx_outcome){.struct_size = sizeof *outcomes, .kind = SBX_OUTCOME_DELIVERED, .item = one->id,
                                        .reason = STR("ignored")};
      FUTURE(&outcomes[settled]);
      settled++;
      continue;
    }
    items[told] = one->id;
    lines[told] = TEXT(texts[told], "%u %.*s of %.*s: %.*s at %llu;", one->kind, ARG(one->device->source_token),
                       ARG(one->device->user), ARG(one->reason), (unsigned long long)one->time_unix_ms);
    told++;
  }
  sbx_http_request request = {.struct_size = sizeof request, .method = STR("DELETE"), .path = STR("/devices"),
                              .body = lines, .body_segments = told, .items = items, .item_count = told};
  FUTURE(&request);
  if (told > 0 && (status = sink->request(sink, &request, 1, sizeof request)) != SBX_OK) return status;
  return sink->settle(sink, outcomes, settled, sizeof *outcomes);
}

static sbx_status classify(sbx_instance *i, const sbx_http_response *responses, size_t n, size_t stride,
                           sbx_http_sink *sink, sbx_error *error) {
  (void)i, (void)error;
  SEE(sink);
  for (size_t k = 0; k < n; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, responses, k, stride);
    SEE(one);
    for (size_t item = 0; item < one->item_count; item++) {
      sbx_outcome outcome = {.struct_size = sizeof outcome, .kind = SBX_OUTCOME_DELIVERED, .item = one->items[item],
                             .provider_code = one->http_status, .reason = STR("told")};
      FUTURE(&outcome);
      sbx_status status = sink->settle(sink, &outcome, 1, sizeof outcome);
      if (status != SBX_OK) return status;
    }
  }
  return SBX_OK;
}

const sbx_register *register_role(void) {
  static sbx_register table = {.struct_size = sizeof table, .max_batch = 50, .kinds = 1u << SBX_CHANGE_INVALID,
                               .endpoint = endpoint, .prepare = prepare, .classify = classify};
  FUTURE(&table);
  return &table;
}
