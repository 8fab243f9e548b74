/* structs.size: set struct_size of sbx_outcome to 136 in settle() */
#define ON_REPORTED o.struct_size += 8;
#include "base.h"
