#ifndef SIGNALBOX_CCURL_H
#define SIGNALBOX_CCURL_H
#include <curl/curl.h>
#endif
