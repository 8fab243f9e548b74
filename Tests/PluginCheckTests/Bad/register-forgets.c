/* register.prepare: it forgot */
#define ON_CHANGES if (n > 1) r.item_count = n - 1;
#include "base.h"
