/* send-http.equal: differ in more than the device */
#define ON_REQUEST char digit[2] = {(char)('0' + one->id % 10), 0}; body[1] = TEXT(digit);
#include "base.h"
