/* memory.faults: in create */
/* flags: -O0 -g */
#define ON_CREATE { char *room = malloc(4); if (room && room[4] == 7) say(error, "seven"); free(room); }
#include "base.h"
