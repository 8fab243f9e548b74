/* send.stop: did not end within 3 s */
#define ON_STOP if (i->is_short) return SBX_E_TIMEOUT;
#define ON_SUBMIT if (n > 40 && n < 512) i->is_short = 1;
#define ON_SENT if (credits) i->is_short = 1;
#include "base.h"
