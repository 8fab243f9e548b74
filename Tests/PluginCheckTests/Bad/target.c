/* build.emits: emit() was answered INVALID */
#define ON_BUILD { sbx_target t = {.struct_size = sizeof t, .recipient = 70000}; sink->emit(sink, &note, &t, 1, sizeof t); }
#include "base.h"
