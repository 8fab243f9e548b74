/* structs.size: set struct_size of sbx_target to 12 in emit() */
#define ON_BUILD { sbx_target t = {.struct_size = 12}; sink->emit(sink, &note, &t, 1, sizeof t); }
#include "base.h"
