/* threads.late: was called after stop() had returned */
#define ON_DESTROY if (!i->runs && i->stops) i->log->write(i->host, SBX_LOG_INFO, STR("bye"), NULL, 0);
#include "base.h"
