/* structs.stride: gave a stride of 0 for sbx_ingest_path in paths() */
#define ON_PATHS *stride = 0;
#include "base.h"
