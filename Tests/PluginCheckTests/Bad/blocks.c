/* send.blocks: took */
#define ON_SUBMIT if (n == 7) usleep(150000);
#include "base.h"
