/* send-http.prepare: was taken care of before */
#define ON_REQUEST sink->request(sink, &r, 1, sizeof r);
#include "base.h"
