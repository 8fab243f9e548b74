/* register.leaks: has the token of change */
#define ON_CHANGES if (n > 1) { for (size_t k = 0; k < n; k++) { r.items = items + k; r.item_count = 1; sink->request(sink, &r, 1, sizeof r); } return SBX_OK; }
#include "base.h"
