/* send.submit: says that it took */
#define ON_TAKEN if (n == 7) *taken = 9;
#include "base.h"
