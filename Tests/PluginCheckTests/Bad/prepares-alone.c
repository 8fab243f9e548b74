/* send-http.threads: it gives other requests */
#define GLOBALS static int inside; static int enter(void) { int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST); usleep(200); return n > 1; } static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST); }
#define ON_REQUEST if (enter()) body[1] = STR("?"); leave();
#include "base.h"
