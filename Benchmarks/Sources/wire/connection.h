/* One HTTP/2 connection over TLS; everything the session has to send leaves in one write. */
#ifndef SINK_CONNECTION_H
#define SINK_CONNECTION_H
#include "counts.h"
#include <openssl/ssl.h>
#include <stdbool.h>

struct connection;

struct connection *connection_open(int socket, SSL_CTX *tls, struct counts *counts, uint32_t streams_max);
/* Reads and writes what is possible now. Returns false once the connection has ended. */
bool connection_work(struct connection *connection);
bool connection_wants_write(const struct connection *connection);
int connection_socket(const struct connection *connection);
void connection_close(struct connection *connection);
#endif
