/* file.host: it wants sbx_of_the_host */
/* flags: -Wl,-z,lazy */
#define GLOBALS void sbx_of_the_host(void);
#define ON_ENTRY sbx_of_the_host();
#include "base.h"
