/* descriptor.needs: is named more than once */
#define NEEDS SBX_SVC_JSON, SBX_SVC_JSON
#include "base.h"
