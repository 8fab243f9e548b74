/* register.reasons: is not a word of at most 64 bytes */
#define ON_REPORTED o.reason = STR("it went well, thank you");
#include "base.h"
