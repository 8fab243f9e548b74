/* submit.c - the send role: deliveries become jobs. */
#include "instance.h"

/* Makes a job, or returns NULL with the reason. */
static smtp_job *make_job(sbx_instance *i, const sbx_delivery *delivery, const char **fault) {
  sbx_str to = delivery->device->token;
  smtp_address kind = smtp_address_check(to);
  *fault = "malformed_address";
  if (kind == SMTP_ADDRESS_BAD) return NULL;
  *fault = "no_memory";
  smtp_job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  job->id = delivery->id;
  job->deadline_unix_ms = delivery->deadline_unix_ms;
  job->give_up_ns = smtp_now_ns() + SMTP_GIVE_UP_NS;
  job->needs_utf8 = kind == SMTP_ADDRESS_UTF8 || i->config.from.is_utf8 || i->config.reply_to.is_utf8;
  job->is_dry_run = delivery->notification->flags & SBX_N_DRY_RUN;
  job->to = strndup(to.ptr, to.len);
  if (job->to) *fault = smtp_put_message(&job->message, i->host, &i->config, delivery, i->clock->unix_ms(i->host));
  if (job->to && !*fault) return job;
  smtp_job_free(job);
  return NULL;
}

static void refuse(sbx_instance *i, uint64_t id, const char *reason) {
  /* All errors found here are permanent, except a lack of memory. */
  uint32_t kind = strcmp(reason, "no_memory") ? SBX_OUTCOME_REJECTED : SBX_OUTCOME_RETRY;
  smtp_verdict verdict = smtp_decide(kind, SBX_SCOPE_ITEM, reason, "not sent");
  smtp_settle(i, id, &verdict);
}

static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                         size_t *taken, sbx_error *error) {
  (void)app, (void)error;
  size_t count = 0;
  for (; count < n; count++) {
    const sbx_delivery *delivery = SBX_AT(sbx_delivery, deliveries, count, stride);
    const char *fault = NULL;
    if (delivery->notification->flags & SBX_N_WITHDRAW) {
      /* A sent mail cannot be withdrawn, so this is not a failure. */
      smtp_verdict verdict = smtp_decide(SBX_OUTCOME_DELIVERED, SBX_SCOPE_ITEM, "nothing_to_take_back", "");
      smtp_settle(i, delivery->id, &verdict);
      continue;
    }
    smtp_job *job = make_job(i, delivery, &fault);
    if (!job) {
      refuse(i, delivery->id, fault);
    } else if (!smtp_queue_put(i, job)) {
      smtp_job_free(job);
      break;
    }
  }
  if (!count && n) return SBX_E_AGAIN;
  *taken = count;
  return SBX_OK;
}

const sbx_send smtp_send_role = {sizeof smtp_send_role, 0, submit};
