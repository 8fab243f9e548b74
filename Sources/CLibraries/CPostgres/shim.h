/* libpq, PostgreSQL's client library. */
#ifndef SIGNALBOX_CPOSTGRES_H
#define SIGNALBOX_CPOSTGRES_H
#include <libpq-fe.h>
#endif
