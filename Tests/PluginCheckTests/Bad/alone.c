/* ingest.threads: a request is answered 500, alone */
#define GLOBALS static int inside; static int enter(void) { int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST); usleep(200); return n > 1; } static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST); }
#define ON_HANDLE { int busy = enter(); leave(); if (busy) { say(error, "busy"); return SBX_E_INTERNAL; } }
#include "base.h"
