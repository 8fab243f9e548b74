/* life.stop: stop() answers TIMEOUT */
#define ON_STOP return SBX_E_TIMEOUT;
#include "base.h"
