/* build.pure: gives another output */
#define GLOBALS static int count;
#define ON_BUILD note.badge = count++; note.flags = SBX_N_BADGE;
#include "base.h"
