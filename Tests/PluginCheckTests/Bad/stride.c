/* structs.longer: it crashes (signal 11 */
#define ON_PREPARE one = d + k;
#include "base.h"
