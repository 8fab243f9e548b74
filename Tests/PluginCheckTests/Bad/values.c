/* config.values: give one with --config */
#define SCHEMA "{\"type\":\"object\",\"required\":[\"key\"],\"properties\":{\"key\":{\"type\":\"string\",\"pattern\":\"^[0-9]{4}x$\"}}}"
#include "base.h"
