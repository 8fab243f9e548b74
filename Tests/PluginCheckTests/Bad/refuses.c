/* entry.loads: refuses to run here: not on a Monday */
#define ON_ENTRY say(error, "not on a Monday");
#define RETURNED NULL
#include "base.h"
