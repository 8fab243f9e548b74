/* register.kinds: bit n stands for kind n */
#define KINDS 0
#include "base.h"
