/* secrets.logs: a device token is in the log line */
#define ON_PREPARE i->log->write(i->host, SBX_LOG_INFO, one->device->token, NULL, 0);
#include "base.h"
