/* send.reasons: has no reason */
#define ON_SENT o.kind = SBX_OUTCOME_REJECTED; o.reason.len = 0;
#include "base.h"
