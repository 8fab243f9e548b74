/* ingest.hostile: it crashes (signal 11 */
#define ON_HANDLE if (request->body.len == 0) *(volatile int *)16 = 1;
#include "base.h"
