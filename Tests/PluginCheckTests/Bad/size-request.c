/* structs.size: set struct_size of sbx_http_request to 0 in request() */
#define ON_REQUEST r.struct_size = 0;
#include "base.h"
