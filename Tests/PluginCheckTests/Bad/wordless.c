/* life.refusals: without words */
#define ON_CREATE { sbx_json_value v; if (json->parse(host, config, &v, NULL) != SBX_OK) return SBX_E_INVALID; }
#include "base.h"
