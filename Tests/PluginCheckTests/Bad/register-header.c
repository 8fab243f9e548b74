/* register.hostile: the value of a header has control characters */
#define ON_CHANGES sbx_kv header = {STR("x-user"), SBX_AT(sbx_change, c, n - 1, stride)->device->user}; r.headers = &header; r.header_count = 1;
#include "base.h"
