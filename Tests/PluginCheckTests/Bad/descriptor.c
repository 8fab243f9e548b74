/* life.files: descriptors are left: /dev/null */
#include <fcntl.h>
#define ON_START if (open("/dev/null", O_RDONLY) < 0) return SBX_E_INTERNAL;
#include "base.h"
