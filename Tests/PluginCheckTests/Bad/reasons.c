/* send-http.reasons: a reason repeats what the provider sent */
#define ON_OUTCOME for (size_t h = 0; h < one->header_count; h++) if (one->headers[h].key.len == 8) o.reason = one->headers[h].value;
#include "base.h"
