/* send-http.endpoint: the origin must begin with https:// */
#define ORIGIN "http://push.example/path"
#include "base.h"
