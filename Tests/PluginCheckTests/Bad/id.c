/* descriptor.id: it is "Base Plugin" */
#define ID "Base Plugin"
#include "base.h"
