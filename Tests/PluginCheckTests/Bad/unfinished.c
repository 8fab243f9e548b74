/* ingest.finish: the time of defer() passed */
#define ON_HANDLE if (request->body.len == 0) return sink->defer(sink, 20);
#include "base.h"
