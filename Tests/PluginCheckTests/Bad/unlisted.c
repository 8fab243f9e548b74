/* descriptor.tables: has a table and is not listed */
#define ROLES SBX_ROLE_INGEST, SBX_ROLE_BUILD
#include "base.h"
