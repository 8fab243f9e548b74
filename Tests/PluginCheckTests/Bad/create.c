/* life.create: the moon is in the wrong place */
#define ON_CREATE say(error, "the moon is in the wrong place"); if (json) return SBX_E_INVALID;
#include "base.h"
