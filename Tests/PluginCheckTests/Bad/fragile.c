/* life.refusals: it crashes (signal 11 */
#define ON_CREATE if (config.len < 10) *(volatile int *)16 = 1;
#include "base.h"
