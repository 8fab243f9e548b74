/* send-http.hostile: characters that must be percent-encoded */
#define ON_REQUEST char path[8192]; size_t length = one->device->token.len; path[0] = '/'; memcpy(path + 1, one->device->token.ptr, length); r.path = (sbx_str){path, length + 1};
#include "base.h"
