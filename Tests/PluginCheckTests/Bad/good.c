/* This one is good: every rule holds. */
#include "base.h"
