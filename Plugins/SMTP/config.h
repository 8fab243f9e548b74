/* config.h - the `config:` of an instance. */
#ifndef SMTP_CONFIG_H
#define SMTP_CONFIG_H
#include <signalbox/plugin.h>
#include "address.h"

typedef enum smtp_security { SMTP_STARTTLS, SMTP_TLS, SMTP_NONE } smtp_security;

typedef struct smtp_config {
  char *host, *ca_file, *username, *subject_prefix, *helo;  /* never NULL; empty if not set */
  smtp_mailbox from, reply_to;
  smtp_security security;
  uint32_t port, connections_max, timeout_ms;
} smtp_config;

/* Name of the secret, for sbx.secrets/1. */
#define SMTP_PASSWORD STR("password")

extern const char smtp_config_schema[];

/* Statuses: OK, INVALID with error->message, INTERNAL (no memory). Free the config in either case. */
sbx_status smtp_config_read(const sbx_host *host, sbx_str text, smtp_config *config, sbx_error *error);
void smtp_config_free(smtp_config *config);

/* Writes an error and returns its status. */
sbx_status smtp_refuse(sbx_error *error, sbx_status status, const char *message);

#endif
