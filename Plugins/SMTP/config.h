/* config.h - the `config:` of an instance. */
#ifndef SMTP_CONFIG_H
#define SMTP_CONFIG_H
#include "message.h"

typedef enum smtp_security { SMTP_STARTTLS, SMTP_TLS, SMTP_NONE } smtp_security;
typedef enum smtp_login { SMTP_NO_LOGIN, SMTP_PASSWORD, SMTP_TOKEN, SMTP_OAUTH } smtp_login;

typedef struct smtp_config {
  char *host, *ca_file, *username, *subject_prefix, *helo;  /* never NULL; empty if not set */
  char *token_url, *client_id, *scope;
  smtp_mailbox from, reply_to;
  smtp_security security;
  smtp_login login;
  uint32_t port, connections_max, timeout_ms;
} smtp_config;

extern const char smtp_config_schema[];

/* Statuses: OK, INVALID with error->message, INTERNAL (no memory). Free the config in either case. */
sbx_status smtp_config_read(const sbx_host *host, sbx_str text, smtp_config *config, sbx_error *error);
void smtp_config_free(smtp_config *config);

#endif
