/* structs.size: set struct_size of sbx_error to 0 in parse() of sbx.json/1 */
#define ON_HANDLE sbx_error e = {0}; i->json->parse(i->host, STR("{"), &root, &e);
#include "base.h"
