/* file.exports: it exports 1 more: more */
#define GLOBALS int more(void); int more(void) { return 7; }
#include "base.h"
