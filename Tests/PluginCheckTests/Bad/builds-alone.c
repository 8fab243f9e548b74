/* build.threads: gives another output */
#define GLOBALS static int inside; static int enter(void) { int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST); usleep(200); return n > 1; } static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST); }
#define ON_BUILD note.badge = enter(); leave(); note.flags = SBX_N_BADGE;
#include "base.h"
