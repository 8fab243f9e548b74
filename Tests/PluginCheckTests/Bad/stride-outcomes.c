/* structs.stride: gave a stride of 8 for sbx_outcome in settle() */
#define ON_OUTCOME sink->settle(sink, &o, 1, 8);
#include "base.h"
