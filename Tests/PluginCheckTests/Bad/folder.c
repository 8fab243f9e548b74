/* life.process: the working folder was changed */
#define ON_START if (chdir("/")) return SBX_E_INTERNAL;
#include "base.h"
