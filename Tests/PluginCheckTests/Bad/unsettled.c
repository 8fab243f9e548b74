/* send-http.classify: it forgot */
#define ON_CLASSIFY if (one->http_status == 418) continue;
#include "base.h"
