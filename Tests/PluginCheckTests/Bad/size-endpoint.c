/* structs.size: set struct_size of sbx_endpoint to 0 in endpoint() */
#define ON_ENDPOINT *e = (sbx_endpoint){0};
#include "base.h"
