/* descriptor.version: it is "new" */
#define VERSION "new"
#include "base.h"
