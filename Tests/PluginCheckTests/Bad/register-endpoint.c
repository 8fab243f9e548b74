/* register.endpoint: the origin names no host */
#define ORIGIN "http://"
#include "base.h"
