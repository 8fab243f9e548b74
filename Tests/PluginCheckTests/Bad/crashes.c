/* entry.loads: it crashes (signal 11 */
#define ON_ENTRY *(volatile int *)16 = 1;
#include "base.h"
