/* threads.services: was called in prepare(); it is allowed on a [control] thread alone */
#define GLOBALS static void done(void *c, const sbx_http_answer *a) { (void)c, (void)a; }
#define ON_PREPARE if (k == 0) { const sbx_http *h = i->host->service(i->host, SBX_SVC_HTTP); sbx_http_call call = {.struct_size = sizeof call, .url = STR("https://x.example")}; h->call(i->host, &call, done, NULL); }
#include "base.h"
