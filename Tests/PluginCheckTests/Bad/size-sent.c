/* structs.size: set struct_size of sbx_outcome to 16 in complete() */
#define ON_SENT o.struct_size = 16;
#include "base.h"
