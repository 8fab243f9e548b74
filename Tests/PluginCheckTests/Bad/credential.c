/* life.credentials: refresh returned OK without set() */
#define GLOBALS static sbx_status refresh(sbx_instance *i, sbx_str n, sbx_error *e) { (void)i, (void)n, (void)e; return SBX_OK; }
#define ON_START const sbx_credential *c = i->host->service(i->host, SBX_SVC_CREDENTIAL); c->define(i->host, STR("token"), 1000, refresh);
#include "base.h"
