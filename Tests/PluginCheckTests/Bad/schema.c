/* config.schema: keyword "oneOf" is not supported */
#define SCHEMA "{\"type\":\"object\",\"oneOf\":[]}"
#include "base.h"
