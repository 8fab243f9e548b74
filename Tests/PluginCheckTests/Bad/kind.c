/* send-http.classify: outcome of the unknown kind 99 */
#define ON_OUTCOME if (one->http_status == 404) o.kind = 99;
#include "base.h"
