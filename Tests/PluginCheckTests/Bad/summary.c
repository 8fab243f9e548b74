/* descriptor.summary: it has 0 characters */
#define SUMMARY ""
#include "base.h"
