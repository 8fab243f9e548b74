/* ingest.paths: it does not begin with / */
#define PATTERN "in/base"
#include "base.h"
