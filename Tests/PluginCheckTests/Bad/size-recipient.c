/* structs.size: set struct_size of sbx_recipient to 0 in emit() */
#define ON_EVENT to.struct_size = 0;
#include "base.h"
