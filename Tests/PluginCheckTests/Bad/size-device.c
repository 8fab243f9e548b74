/* structs.size: set struct_size of sbx_device to 0 in emit() */
#define ON_EVENT device.struct_size = 0;
#include "base.h"
