/* structs.size: set struct_size of sbx_change to 0 in change() of sbx.registry/1 */
#define GLOBALS static void changed(void *c, sbx_status s, const sbx_device *d, size_t n, size_t k) { (void)c, (void)s, (void)d, (void)n, (void)k; }
#define ON_HANDLE sbx_change c = {.kind = SBX_CHANGE_REGISTERED}; const sbx_registry *known = i->host->service(i->host, SBX_SVC_REGISTRY); \
  known->change(i->host, &c, changed, NULL);
#include "base.h"
