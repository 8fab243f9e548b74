/* send.outcomes: a second time */
#define ON_SENT i->out->complete(i->host, &o, 1, sizeof o);
#include "base.h"
