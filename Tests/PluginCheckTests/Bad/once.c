/* life.order: in a later round */
#define GLOBALS static int count;
#define ON_CREATE if (count++ > 30) { say(error, "enough"); return SBX_E_INTERNAL; }
#include "base.h"
