/* ingest.samples: sample 1 is answered 401 */
#define ON_HANDLE if (request->header_count < 100) { say(error, "no"); return SBX_E_AUTH; }
#include "base.h"
