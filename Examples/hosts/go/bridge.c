#include "_cgo_export.h"
#include <string.h>

static sbx_str str(const char *text) { return (sbx_str){text, strlen(text)}; }

static void results(void *context, const sbx_delivery_result *list, size_t n, size_t stride) {
  for (size_t i = 0; i < n; i++) goResult((uintptr_t)context, (sbx_delivery_result *)SBX_AT(sbx_delivery_result, list, i, stride));
}
static void findings(void *context, const sbx_finding *list, size_t n, size_t stride) {
  for (size_t i = 0; i < n; i++) goFinding((uintptr_t)context, (sbx_finding *)SBX_AT(sbx_finding, list, i, stride));
}
static void submitted(void *context, const sbx_submission *s) {
  for (size_t i = 0; i < s->event_count; i++)
    goSubmitted((uintptr_t)context, (sbx_submitted *)SBX_AT(sbx_submitted, s->events, i, s->event_stride));
}
static void answered(void *context, const sbx_answer *answer) { goAnswer((uintptr_t)context, (sbx_answer *)answer); }

sbx_status bridge_create(const char *config, const char *data, uintptr_t handle, sbx_gateway **out, sbx_error *error) {
  sbx_gateway_options o = {.struct_size = sizeof o, .config_file = str(config), .data_folder = str(data),
                           .program = str("shop"), .context = (void *)handle, .results = results};
  return sbx_gateway_create(&o, out, error);
}
sbx_status bridge_check(sbx_gateway *gateway, const char *text, uintptr_t handle, sbx_error *error) {
  return sbx_gateway_check(gateway, str(text), findings, (void *)handle, error);
}
sbx_status bridge_submit(sbx_gateway *gateway, const char *source, const char *json, uintptr_t handle, sbx_error *error) {
  return sbx_gateway_submit_json_wait(gateway, str(source), str(json), submitted, (void *)handle, error);
}
sbx_status bridge_request(sbx_gateway *gateway, int admin, const char *method, const char *path, const char *query,
                          const char *body, uintptr_t handle, sbx_error *error) {
  sbx_request r = {.struct_size = sizeof r, .method = str(method), .path = str(path), .query = str(query), .body = str(body)};
  return (admin ? sbx_gateway_admin : sbx_gateway_handle)(gateway, &r, answered, (void *)handle, error);
}
