/* The role send: deliveries in, some of them accepted from the front; outcomes and credit come
 * back through a service. */
#include "host.h"

static void complete(const sbx_host *host, const sbx_outcome *outcomes, size_t n, size_t stride) {
  (void)host;
  print_outcomes(outcomes, n, stride);
}

static void credit(const sbx_host *host, size_t room) {
  (void)host, (void)room;
  printf("credit\n");
}

const void *send_host_service(void) { TABLE(sbx_send_host, .complete = complete, .credit = credit); }

static const sbx_notification *edge_notification(const sbx_notification *kept) {
  const uint32_t size = SIZE_OF(sbx_notification, overrides);
  sbx_notification n = *kept;
  n.struct_size = size;
  FUTURE(&n);
  return edge_copy(&n, size);
}

const sbx_delivery *edge_deliveries(size_t first) {
  sbx_delivery *batch = EDGE(sbx_delivery, delivery_count - first);
  const sbx_notification *note = NULL;
  for (size_t k = first; k < delivery_count; k++) {
    const struct delivery *kept = &deliveries[k];
    sbx_delivery *one = &batch[k - first];
    char id[32];
    if (k == first || kept->note != kept[-1].note) note = edge_notification(kept->note);
    *one = (sbx_delivery){.struct_size = sizeof *one, .attempt = (uint32_t)k + 1,
      .flags = kept->flags & SBX_T_BADGE ? SBX_D_BADGE : 0, .badge = kept->badge, .id = 100 + k,
      .deadline_unix_ms = NOW_MS + 5000 + k, .notification = note, .device = edge_device(kept->device),
      .stable_id = edge_text((sbx_str){id, (size_t)snprintf(id, sizeof id, "stable-%zu", k)})};
    FUTURE(one);
  }
  return batch;
}

void deliver_all(struct run *run) {
  const sbx_send *given = run->plugin->role(SBX_ROLE_SEND);
  size_t first = 0;
  TAKE(sbx_send, role, given);
  printf("submit by %u\n", role.max_batch);
  while (first < delivery_count) {
    size_t taken = 0;
    sbx_error *error = edge_error();
    sbx_status status = role.submit(run->instance, edge_text(STR("")), edge_deliveries(first), delivery_count - first,
                                    sizeof(sbx_delivery), &taken, error);
    if (status != SBX_OK) print_fault("submit", status, error);
    if (status != SBX_OK || taken == 0 || taken > delivery_count - first) die("nothing, or too much, was taken");
    printf("taken %zu\n", taken);
    first += taken;
    edge_release();
  }
}
