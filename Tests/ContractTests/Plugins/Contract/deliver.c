/* The role send: three deliveries at a time, settled at once in one array. */
#include "contract.h"

#define TAKEN_MAX 3

static sbx_status submit(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                         size_t *taken, sbx_error *error) {
  const sbx_send_host *out = i->host->service(i->host, SBX_SVC_SEND_HOST);
  sbx_outcome outcomes[TAKEN_MAX];
  size_t count = n < TAKEN_MAX ? n : TAKEN_MAX;
  (void)error;
  SEE(out);
  for (size_t k = 0; k < count; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, deliveries, k, stride);
    SEE(one);
    SEE(one->notification);
    SEE(one->device);
    outcomes[k] = (sbx_outcome){.struct_size = sizeof *outcomes, .kind = SBX_OUTCOME_DELIVERED, .item = one->id,
                                .provider_code = one->attempt, .reason = app.len ? STR("app") : STR("mailed"),
                                .detail = one->notification->title, .provider_id = one->stable_id,
                                .new_token = one->device->token};
    FUTURE(&outcomes[k]);
  }
  if (count < n) out->credit(i->host, TAKEN_MAX);
  out->complete(i->host, outcomes, count, sizeof *outcomes);
  *taken = count;
  return SBX_OK;
}

const sbx_send *deliver_role(void) {
  static sbx_send table = {.struct_size = sizeof table, .max_batch = 9, .submit = submit};
  FUTURE(&table);
  return &table;
}
