/* structs.size: set struct_size of sbx_event to 0 in emit() */
#define ON_EVENT event.struct_size = 0;
#include "base.h"
