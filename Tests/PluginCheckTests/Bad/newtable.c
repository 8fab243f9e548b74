/* entry.again: the same host gets another table */
#define ON_ENTRY static sbx_plugin tables[8]; static int count; tables[count % 8] = plugin; count++;
#define RETURNED &tables[(count - 1) % 8]
#include "base.h"
