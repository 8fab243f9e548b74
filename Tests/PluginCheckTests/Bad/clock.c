/* build.services: it used sbx.clock/1 */
#define ON_BUILD { const sbx_clock *c = i->host->service(i->host, SBX_SVC_CLOCK); note.priority = c->unix_ms(i->host) ? 5 : 10; }
#include "base.h"
