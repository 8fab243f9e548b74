/* structs.stride: gave a stride of 0 for sbx_recipient in emit() */
#define ON_EVENT event.recipient_stride = 0;
#include "base.h"
