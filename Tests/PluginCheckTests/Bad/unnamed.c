/* build.recipients: are neither named nor skipped */
#define ON_BUILD if (input->recipient_count > 1) return SBX_OK;
#include "base.h"
