#ifndef SIGNALBOX_CNGHTTP2_H
#define SIGNALBOX_CNGHTTP2_H
#include <nghttp2/nghttp2.h>
#endif
