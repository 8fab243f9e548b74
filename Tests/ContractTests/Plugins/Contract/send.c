/* Deliveries to iOS become requests, all in one array; others are settled without a request. */
#include "contract.h"

static sbx_status endpoint(sbx_instance *i, sbx_str app, sbx_endpoint *out, sbx_error *error) {
  (void)i;
  SEE(out);
  if (!is(app, "")) return fail(error, SBX_E_NOT_FOUND, "no such app");
  out->flags = SBX_ENDPOINT_ONE_STREAM_FIRST;
  out->origin = STR("https://push.example");
  out->ca_file = STR("/etc/roots.pem");
  out->request_timeout_ms = 1234;
  out->connect_timeout_ms = 567;
  out->ping_idle_ms = 89;
  out->ping_timeout_ms = 10;
  out->connections_max = 11;
  out->streams_max = 12;
  return SBX_OK;
}

static sbx_status prepare(sbx_instance *i, sbx_str app, const sbx_delivery *deliveries, size_t n, size_t stride,
                          sbx_http_sink *sink, sbx_error *error) {
  sbx_http_request requests[ITEMS_MAX];
  sbx_outcome outcomes[ITEMS_MAX];
  sbx_str bodies[ITEMS_MAX][3];
  sbx_kv headers[ITEMS_MAX][2];
  char paths[ITEMS_MAX][64], notes[ITEMS_MAX][128];
  sbx_status status;
  size_t sent = 0, settled = 0;
  (void)i, (void)app, (void)error;
  SEE(sink);
  for (size_t k = 0; k < n && k < ITEMS_MAX; k++) {
    const sbx_delivery *one = SBX_AT(sbx_delivery, deliveries, k, stride);
    const sbx_notification *note = one->notification;
    SEE(one);
    SEE(note);
    SEE(one->device);
    if (!is(one->device->platform, "ios")) {
      outcomes[settled] = (sbx_outcome){.struct_size = sizeof *outcomes, .kind = SBX_OUTCOME_REJECTED, .item = one->id,
                                        .reason = STR("platform"), .detail = one->device->platform};
      FUTURE(&outcomes[settled]);
      settled++;
      continue;
    }
    int badge = one->flags & SBX_D_BADGE ? one->badge : note->flags & SBX_N_BADGE ? note->badge : -1;
    headers[sent][0] = (sbx_kv){STR("x-stable"), one->stable_id};
    headers[sent][1] = (sbx_kv){STR("x-note"), TEXT(notes[sent], "attempt %u until %llu priority %u badge %d"
      " overrides %zu", one->attempt, (unsigned long long)one->deadline_unix_ms, note->priority, badge,
      note->override_count)};
    bodies[sent][0] = note->title;
    bodies[sent][1] = STR("|");
    bodies[sent][2] = note->body;
    requests[sent] = (sbx_http_request){.struct_size = sizeof *requests, .method = STR("POST"),
      .path = TEXT(paths[sent], "/push/%.*s", ARG(one->device->token)), .headers = headers[sent], .header_count = 2,
      .body = bodies[sent], .body_segments = 3, .items = &one->id, .item_count = 1};
    FUTURE(&requests[sent]);
    sent++;
  }
  if ((status = sink->request(sink, requests, sent, sizeof *requests)) != SBX_OK) return status;
  return sink->settle(sink, outcomes, settled, sizeof *outcomes);
}

static sbx_status classify(sbx_instance *i, const sbx_http_response *responses, size_t n, size_t stride,
                           sbx_http_sink *sink, sbx_error *error) {
  sbx_outcome outcomes[ITEMS_MAX];
  (void)error;
  SEE(sink);
  for (size_t k = 0; k < n && k < ITEMS_MAX; k++) {
    const sbx_http_response *one = SBX_AT(sbx_http_response, responses, k, stride);
    SEE(one);
    sbx_outcome *o = &outcomes[k];
    *o = (sbx_outcome){.struct_size = sizeof *o, .kind = SBX_OUTCOME_DELIVERED, .item = one->items[0],
                       .provider_code = one->http_status, .reason = STR("ok"), .provider_id = one->body};
    if (one->http_status == 410) {
      o->kind = SBX_OUTCOME_UNREGISTERED, o->reason = STR("gone"), o->new_token = STR("fresh");
      o->gone_since_unix_ms = i->clock->unix_ms(i->host);
    } else if (one->http_status == 503) {
      o->kind = SBX_OUTCOME_AUTH, o->reason = STR("busy"), o->credential = STR("jwt"), o->retry_after_ms = 7000;
      o->scope = SBX_SCOPE_APP, o->flags = SBX_OUTCOME_RECONNECT;
      o->detail = value_of(one->headers, one->header_count, "retry-after");
    }
    FUTURE(o);
  }
  return sink->settle(sink, outcomes, n, sizeof *outcomes);
}

const sbx_send_http *send_role(void) {
  static sbx_send_http table = {.struct_size = sizeof table, .max_batch = 5, .endpoint = endpoint, .prepare = prepare,
                                .classify = classify};
  FUTURE(&table);
  return &table;
}
