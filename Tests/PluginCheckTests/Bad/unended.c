/* send.outcomes: 1 of 1 deliveries had no outcome */
#define ON_SUBMIT { *taken = n; return SBX_OK; }
#include "base.h"
