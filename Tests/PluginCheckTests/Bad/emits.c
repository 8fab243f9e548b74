/* ingest.emits: emit() was answered INVALID */
#define ON_HANDLE { sbx_event bad = {.struct_size = sizeof bad, .type = STR("x"), .data = STR("[]")}; sink->emit(sink, &bad, 1, sizeof bad); }
#include "base.h"
