/* descriptor.roles: is not a role of contract */
#define ROLES "sbx.role.teleport/1", SBX_ROLE_INGEST
#include "base.h"
