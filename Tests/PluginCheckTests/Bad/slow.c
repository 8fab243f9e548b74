/* entry.quick: they took */
#define ON_ENTRY sleep(1);
#include "base.h"
