/* Lines of a body, "platform token user [muted]", become devices and the recipients of an event. */
#include "contract.h"

static sbx_status paths(sbx_instance *i, const sbx_ingest_path **out, size_t *n, size_t *stride) {
  static sbx_ingest_path list[2];
  (void)i;
  for (size_t k = 0; k < 2; k++) {
    list[k] = (sbx_ingest_path){.struct_size = sizeof list[k]};
    FUTURE(&list[k]);
  }
  list[0].pattern = STR("/in/{shop}"), list[0].methods = STR("POST");
  list[1].pattern = STR("/health"), list[1].methods = STR("GET,POST");
  *out = list;
  *n = 2;
  *stride = sizeof *list;
  return SBX_OK;
}

static sbx_str word(sbx_str *rest) {
  sbx_str out = {rest->ptr, 0};
  while (out.len < rest->len && out.ptr[out.len] != ' ') out.len++;
  size_t used = out.len < rest->len ? out.len + 1 : out.len;
  rest->ptr += used, rest->len -= used;
  return out;
}

static sbx_str line(sbx_str *rest) {
  const char *end = memchr(rest->ptr, '\n', rest->len);
  sbx_str out = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
  size_t used = end ? out.len + 1 : out.len;
  rest->ptr += used, rest->len -= used;
  return out;
}

static sbx_status handle(sbx_instance *i, const sbx_request *request, sbx_ingest_sink *sink, sbx_error *error) {
  static const sbx_kv muted = {{"muted", 5}, {"true", 4}};
  sbx_device devices[ITEMS_MAX];
  sbx_recipient recipients[ITEMS_MAX];
  sbx_change changes[ITEMS_MAX];
  sbx_event events[2];
  char data[512], dedupe[64], detail[64];
  sbx_status status;
  size_t n = 0, bad = 0;
  sbx_str rest = request->body;
  SEE(request);
  SEE(sink);
  i->handled++;
  if (is(request->body, "wrong")) return fail(error, SBX_E_AUTH, "the mark does not fit");

  while (rest.len > 0 && n < ITEMS_MAX) {
    sbx_str text = line(&rest);
    sbx_str platform = word(&text), token = word(&text), user = word(&text);
    if (user.len == 0) {
      bad++;
      continue;
    }
    devices[n] = (sbx_device){.struct_size = sizeof *devices, .app = STR("shop"), .platform = platform,
                              .provider = STR("p"), .token = token, .source_token = STR("raw"), .user = user,
                              .locale = STR("de-AT"), .registered_unix_ms = request->received_unix_ms - 1,
                              .attributes = &muted, .attribute_count = is(text, "muted")};
    recipients[n] = (sbx_recipient){.struct_size = sizeof *recipients, .device = &devices[n], .attributes = &muted,
                                    .attribute_count = is(text, "muted")};
    changes[n] = (sbx_change){.struct_size = sizeof *changes, .kind = SBX_CHANGE_REGISTERED,
                              .time_unix_ms = request->received_unix_ms + n, .device = &devices[n],
                              .reason = STR("seen")};
    FUTURE(&devices[n]);
    FUTURE(&recipients[n]);
    FUTURE(&changes[n]);
    n++;
  }
  sbx_str shop = value_of(request->params, request->param_count, "shop");
  sbx_str mark = value_of(request->headers, request->header_count, "x-mark");
  sbx_str shown = TEXT(data, "{\"shop\":\"%.*s\",\"call\":\"%.*s %.*s?%.*s from %.*s by %.*s\","
                             "\"pattern\":\"%.*s\",\"now\":%llu}", ARG(shop), ARG(request->method),
                       ARG(request->path), ARG(request->query), ARG(request->remote), ARG(request->client_certificate),
                       ARG(request->pattern), (unsigned long long)i->clock->unix_ms(i->host));
  events[0] = (sbx_event){.struct_size = sizeof *events, .type = STR("order.shipped"), .subject = STR("order/7"),
                          .dedupe = TEXT(dedupe, "%.*s-%.*s", ARG(shop), ARG(mark)), .data = shown,
                          .recipients = recipients, .recipient_count = n, .recipient_stride = sizeof *recipients};
  events[1] = (sbx_event){.struct_size = sizeof *events, .type = STR("order.seen"), .time_unix_ms = 5};
#if SBX_ABI_MINOR >= 1
  events[0].dedupe_window_ms = 7000;
#endif
  FUTURE(&events[0]);
  FUTURE(&events[1]);
  if ((status = sink->emit(sink, events, 2, sizeof *events)) != SBX_OK) return status;
  if ((status = sink->change(sink, changes, n, sizeof *changes)) != SBX_OK) return status;
  if (bad > 0) sink->reject(sink, STR("bad_line"), TEXT(detail, "%zu without a user", bad));
  sbx_kv header = {STR("x-answer"), STR("yes")};
  return sink->respond(sink, 202, &header, 1, STR("taken"));
}

const sbx_ingest *ingest_role(void) {
  static sbx_ingest table = {.struct_size = sizeof table, .paths = paths, .handle = handle};
  FUTURE(&table);
  return &table;
}
