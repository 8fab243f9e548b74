/* structs.size: set struct_size of sbx_http_call to 0 in submit() of sbx.http/1 */
#define ON_HANDLE sbx_http_call c = {.url = STR("https://h/")}; const sbx_http *http = i->host->service(i->host, SBX_SVC_HTTP); \
  http->submit(i->host, &c, NULL, NULL);
#include "base.h"
