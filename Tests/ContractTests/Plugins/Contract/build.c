/* Turns an event into a notification for everyone who is not muted, and a second one
 * for the first of them. */
#include "contract.h"

static sbx_status build(sbx_instance *i, const sbx_build_input *input, sbx_build_sink *sink, sbx_error *error) {
  const sbx_event *event = input->event;
  const sbx_kv override = {STR("apns"), STR("{\"a\":1}")};
  sbx_target targets[ITEMS_MAX];
  uint32_t muted[ITEMS_MAX];
  char body[128];
  sbx_status status;
  size_t n = 0, skipped = 0;
  SEE(input);
  SEE(sink);
  SEE(event);
  for (size_t k = 0; k < input->recipient_count && k < ITEMS_MAX; k++) {
    const sbx_recipient *one = SBX_AT(sbx_recipient, input->recipients, k, input->recipient_stride);
    SEE(one);
    SEE(one->device);
    if (is(value_of(one->attributes, one->attribute_count, "muted"), "true")) {
      muted[skipped++] = (uint32_t)k;
      continue;
    }
    targets[n] = (sbx_target){.struct_size = sizeof *targets, .recipient = (uint32_t)k};
    if (is(one->device->user, "ben")) targets[n].flags = SBX_T_BADGE, targets[n].badge = 7;
    FUTURE(&targets[n]);
    n++;
  }
  sbx_notification note = {
    .struct_size = sizeof note, .flags = SBX_N_BADGE | SBX_N_MUTABLE, .priority = SBX_PRIORITY_HIGH, .badge = 3,
    .expires_unix_ms = i->clock->unix_ms(i->host) + 60000, .title = event->subject, .subtitle = event->type,
    .body = TEXT(body, "%.*s by %.*s at %llu", ARG(input->route), ARG(input->instance),
                 (unsigned long long)event->time_unix_ms),
    .sound = STR("ping"), .thread = event->dedupe, .category = STR("c"), .collapse = STR("one"),
    .image_url = STR("https://img.example/1"), .link = STR("app://order/7"), .push_type = STR("alert"),
    .data = event->data, .overrides = &override, .override_count = 1};
  FUTURE(&note);
  if (!is(input->options, "{}")) return fail(error, SBX_E_UNSUPPORTED, "options");
  if ((status = sink->emit(sink, &note, targets, n, sizeof *targets)) != SBX_OK) return status;
  note = (sbx_notification){.struct_size = sizeof note, .title = STR("first")};
  FUTURE(&note);
  if ((status = sink->emit(sink, &note, targets, n > 0, sizeof *targets)) != SBX_OK) return status;
  for (size_t k = 0; k < skipped; k++) sink->skip(sink, muted[k], STR("muted"));
  return SBX_OK;
}

const sbx_build *build_role(void) {
  static sbx_build table = {.struct_size = sizeof table, .build = build};
  FUTURE(&table);
  return &table;
}
