/* memory.leaks: in start */
/* flags: -O0 -g */
#define ON_START { char *volatile room = malloc(100); room = NULL; (void)room; }
#include "base.h"
