/* structs.exact: it crashes (signal 11 */
#define ON_REQUEST body[0].len = strlen(body[0].ptr) > 999 ? 0 : body[0].len;
#include "base.h"
