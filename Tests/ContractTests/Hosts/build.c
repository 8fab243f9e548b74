/* The role build: each event with its recipients in, contents with targets and skips out. */
#include "host.h"

struct delivery deliveries[ITEMS_MAX];
size_t delivery_count;

struct building {
  const struct event *event;
  int named[ITEMS_MAX];
  size_t skip_count;
  struct {
    uint32_t recipient;
    sbx_str reason;
  } skips[ITEMS_MAX];
};

static const sbx_notification *keep_notification(const sbx_notification *given) {
  TAKE(sbx_notification, taken, given);
  sbx_notification *n = malloc(sizeof *n);
  if (!n) die("no memory");
  *n = taken;
  sbx_str *texts[] = {&n->title, &n->subtitle, &n->body, &n->sound, &n->thread, &n->category, &n->collapse,
                      &n->image_url, &n->link, &n->push_type, &n->data};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = keep(*texts[i]);
  n->overrides = keep_pairs(n->overrides, n->override_count);
  return n;
}

static sbx_status emit(sbx_build_sink *sink, const sbx_notification *given, const sbx_target *targets, size_t count,
                       size_t stride) {
  struct building *building = sink->state;
  const sbx_notification *n = keep_notification(given);
  printf("content title=%.*s subtitle=%.*s body=%.*s sound=%.*s thread=%.*s category=%.*s collapse=%.*s image=%.*s "
         "link=%.*s push=%.*s data=%.*s flags=%u priority=%u expires=%llu", ARG(n->title), ARG(n->subtitle),
         ARG(n->body), ARG(n->sound), ARG(n->thread), ARG(n->category), ARG(n->collapse), ARG(n->image_url),
         ARG(n->link), ARG(n->push_type), ARG(n->data), n->flags & ~SBX_N_BADGE, n->priority,
         (unsigned long long)n->expires_unix_ms);
  if (n->flags & SBX_N_BADGE) printf(" badge=%d", n->badge);
  print_pairs("overrides", n->overrides, n->override_count);
  printf("\n");
  for (size_t k = 0; k < count; k++) {
    TAKE(sbx_target, t, SBX_AT(sbx_target, targets, k, stride));
    if (t.recipient >= building->event->raw.recipient_count || delivery_count == ITEMS_MAX) return SBX_E_INVALID;
    building->named[t.recipient] = 1;
    printf("target %u", t.recipient);
    if (t.flags & SBX_T_BADGE) printf(" badge=%d", t.badge);
    printf("\n");
    deliveries[delivery_count++] = (struct delivery){n, &building->event->devices[t.recipient], t.flags, t.badge};
  }
  return SBX_OK;
}

static sbx_status skip(sbx_build_sink *sink, uint32_t recipient, sbx_str reason) {
  struct building *building = sink->state;
  if (recipient >= building->event->raw.recipient_count || building->skip_count == ITEMS_MAX) return SBX_E_INVALID;
  building->named[recipient] = 1;
  building->skips[building->skip_count].recipient = recipient;
  building->skips[building->skip_count++].reason = keep(reason);
  return SBX_OK;
}

const sbx_device *edge_device(const sbx_device *kept) {
  const uint32_t size = SIZE_OF(sbx_device, attributes);
  sbx_device d = {.struct_size = size, .app = edge_text(kept->app), .platform = edge_text(kept->platform),
    .provider = edge_text(kept->provider), .token = edge_text(kept->token), .user = edge_text(kept->user),
    .source_token = edge_text(kept->source_token), .locale = edge_text(kept->locale),
    .registered_unix_ms = kept->registered_unix_ms, .attributes = kept->attributes,
    .attribute_count = kept->attribute_count};
  FUTURE(&d);
  return edge_copy(&d, size);
}

static void build_one(struct run *run, const sbx_build *role, const struct event *kept) {
  struct building building = {.event = kept};
  sbx_event *event = EDGE(sbx_event, 1);
  *event = kept->raw;
  event->struct_size = sizeof *event;
  event->recipient_count = 0;
  const uint32_t size = SIZE_OF(sbx_recipient, attributes);
  event->recipient_stride = size;
  char *recipients = edge(kept->raw.recipient_count * size);
  for (size_t k = 0; k < kept->raw.recipient_count; k++) {
    sbx_recipient one = kept->recipients[k];
    one.struct_size = size;
    one.device = edge_device(&kept->devices[k]);
    FUTURE(&one);
    memcpy(recipients + k * size, &one, size);
  }
  sbx_build_input *input = EDGE(sbx_build_input, 1);
  *input = (sbx_build_input){.struct_size = sizeof *input, .event = event, .route = edge_text(STR("r")),
    .instance = edge_text(STR("test")), .options = edge_text(STR("{}")), .recipients = (void *)recipients,
    .recipient_count = kept->raw.recipient_count, .recipient_stride = size};
  sbx_build_sink *sink = EDGE(sbx_build_sink, 1);
  *sink = (sbx_build_sink){.struct_size = sizeof *sink, .state = &building, .emit = emit, .skip = skip};
  FUTURE(event);
  FUTURE(input);
  FUTURE(sink);
  sbx_error *error = edge_error();
  sbx_status status = role->build(run->instance, input, sink, error);
  if (status != SBX_OK) print_fault("build", status, error);
  for (size_t k = 0; k < building.skip_count; k++)
    printf("skip %u %.*s\n", building.skips[k].recipient, ARG(building.skips[k].reason));
  for (size_t k = 0; k < kept->raw.recipient_count; k++)
    if (!building.named[k]) printf("skip %zu unnamed\n", k);
  edge_release();
}

void build(struct run *run) {
  const sbx_build *given = run->plugin->role(SBX_ROLE_BUILD);
  TAKE(sbx_build, role, given);
  for (size_t k = 0; k < event_count; k++) {
    if (events[k].raw.recipient_count == 0) continue;
    printf("build %.*s\n", ARG(events[k].raw.type));
    build_one(run, &role, &events[k]);
  }
}
