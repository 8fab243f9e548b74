/* secrets.output: bytes to standard output */
#define ON_START if (write(1, "hello\n", 6) < 0) return SBX_E_INTERNAL;
#include "base.h"
