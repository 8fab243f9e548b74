/* structs.size: set struct_size of sbx_notification to 0 in emit() */
#define ON_BUILD note.struct_size = 0;
#include "base.h"
