/* build.samples: nothing is built for anybody */
#define ON_BUILD for (uint32_t k = 0; k < input->recipient_count; k++) sink->skip(sink, k, STR("muted")); if (input) return SBX_OK;
#include "base.h"
