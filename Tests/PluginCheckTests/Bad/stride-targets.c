/* structs.stride: gave a stride of 8 for sbx_target in emit() */
#define ON_BUILD { sbx_target t = {.struct_size = sizeof t}; sink->emit(sink, &note, &t, 1, 8); }
#include "base.h"
