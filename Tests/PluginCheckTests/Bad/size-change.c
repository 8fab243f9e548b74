/* structs.size: set struct_size of sbx_change to 0 in change() */
#define ON_EVENT sbx_change c = {.kind = SBX_CHANGE_REGISTERED, .device = &device}; sink->change(sink, &c, 1, sizeof c);
#include "base.h"
