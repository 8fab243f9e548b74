/* send-http.leaks: has the token of delivery */
#define GLOBALS static char known[8192]; static size_t length;
#define ON_REQUEST body[1] = (sbx_str){known, length}; sink->request(sink, &r, 1, sizeof r); length = one->device->token.len; memcpy(known, one->device->token.ptr, length); continue;
#include "base.h"
