/* ingest.hostile: it is answered 500 */
#define ON_HANDLE if (request->body.len == 7) { say(error, "oops"); return SBX_E_INTERNAL; }
#include "base.h"
