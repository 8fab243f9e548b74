/* encode.h - notifications as messages: RFC 5322 and MIME. */
#ifndef SMTP_ENCODE_H
#define SMTP_ENCODE_H
#include <stdatomic.h>
#include "config.h"

/* Longest message, in bytes; longer ones are not sent. */
#define SMTP_MESSAGE_MAX (1u << 20)

/* The parts that deliveries of one notification share: all headers but three, and the body. Reference-counted,
 * because each delivery takes it through the queue. */
typedef struct smtp_content {
  atomic_uint owners;
  bool needs_utf8;
  smtp_buffer text;
} smtp_content;

/* NULL if it cannot be sent; *fault then says why, with a reason from the closed list in errors.h. Parses JSON,
 * so call it only during a call of the host. */
smtp_content *smtp_content_make(const sbx_host *host, const smtp_config *config, const sbx_notification *note,
                                const char **fault);
smtp_content *smtp_content_share(smtp_content *content);
void smtp_content_release(smtp_content *content);

/* The three headers of one delivery: Date, To, Message-ID. The address must be validated already. */
void smtp_put_own_headers(smtp_buffer *out, const smtp_config *config, sbx_str to, sbx_str stable_id,
                          uint64_t unix_ms);

#endif
