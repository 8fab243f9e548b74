/* send-http.prepare: it forgot */
#define ON_PREPARE if (k == 6) continue;
#include "base.h"
