#ifndef SIGNALBOX_CYAML_H
#define SIGNALBOX_CYAML_H
#include <yaml.h>
#endif
