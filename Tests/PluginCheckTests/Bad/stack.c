/* file.stack: -z noexecstack */
/* flags: -Wl,-z,execstack */

#include "base.h"
