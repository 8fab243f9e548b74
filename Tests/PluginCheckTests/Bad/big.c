/* ingest.huge: it is answered 500 */
#define ON_HANDLE if (request->body.len > 1000000) { say(error, "no room"); return SBX_E_INTERNAL; }
#include "base.h"
