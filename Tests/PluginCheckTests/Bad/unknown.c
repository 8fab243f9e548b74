/* build.unknown: INTERNAL is for faults of the plugin */
#define ON_BUILD if (input->event->type.len == 1) { say(error, "what is that?"); return SBX_E_INTERNAL; }
#include "base.h"
