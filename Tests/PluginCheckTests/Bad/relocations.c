/* file.relocations: compile with -fPIC */
/* flags: -fno-PIC -mcmodel=large -Wl,-z,notext */

#include "base.h"
