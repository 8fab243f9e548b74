/* Between cgo and signalbox/gateway.h: callbacks whose context is a number, as Go's handles are. */
#include <signalbox/gateway.h>
#include <stdlib.h>

sbx_status bridge_create(const char *config, const char *data, uintptr_t handle, sbx_gateway **out, sbx_error *error);
sbx_status bridge_check(sbx_gateway *gateway, const char *text, uintptr_t handle, sbx_error *error);
sbx_status bridge_submit(sbx_gateway *gateway, const char *source, const char *json, uintptr_t handle, sbx_error *error);
sbx_status bridge_request(sbx_gateway *gateway, int admin, const char *method, const char *path, const char *query,
                          const char *body, uintptr_t handle, sbx_error *error);
