/* life.many: two instances are the same */
#define GLOBALS static sbx_instance *only;
#define ON_CREATE if (only) { *out = only; return SBX_OK; }
#define ON_CREATED only = i;
#define ON_START if (i->runs) return SBX_OK;
#define ON_DESTROY if (only != i) return; only = NULL;
#include "base.h"
