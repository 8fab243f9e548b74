/* register.classify: it forgot */
#define ON_REPORTED if (one->http_status == 410) continue;
#include "base.h"
