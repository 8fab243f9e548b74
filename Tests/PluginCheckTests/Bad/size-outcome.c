/* structs.size: set struct_size of sbx_outcome to 0 in settle() */
#define ON_OUTCOME o.struct_size = 0;
#include "base.h"
