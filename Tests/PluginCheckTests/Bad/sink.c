/* threads.sinks: was called after it was over */
#define GLOBALS static sbx_build_sink *known;
#define ON_BUILD if (known) known->skip(known, 0, STR("late")); known = sink;
#include "base.h"
