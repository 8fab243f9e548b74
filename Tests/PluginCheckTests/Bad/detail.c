/* secrets.words: a device token is in a detail of classify() */
#define ON_OUTCOME o.detail = one->body;
#include "base.h"
