/* life.threads: threads are left */
#define GLOBALS static void *forever(void *p) { (void)p; for (;;) pause(); return NULL; }
#define ON_START { pthread_t t; pthread_create(&t, NULL, forever, NULL); pthread_detach(t); }
#include "base.h"
