/* oauth.c - access tokens for a client's id and secret (RFC 6749, 4.4), through the host's HTTP. */
#include "instance.h"

/* No endpoint's word is good for longer than a day. */
enum { LIFE_MAX_S = 86400, ASK_MS = 20000 };

static smtp_verdict unavailable(const char *detail) {
  return smtp_decide(SBX_OUTCOME_RETRY, SBX_SCOPE_INSTANCE, "token_unavailable", detail);
}

/* Ends the asking; takes the token, which is NULL after a fault. */
static void keep(sbx_instance *i, char *token, int64_t life_s, const smtp_verdict *fault) {
  pthread_mutex_lock(&i->lock);
  if (i->token) explicit_bzero(i->token, strlen(i->token));
  free(i->token);
  i->token = token;
  /* It is renewed five minutes before its end, or halfway. */
  if (token) i->token_until_ns = smtp_now_ns() + (uint64_t)(life_s > 600 ? life_s - 300 : life_s / 2) * 1000000000u;
  i->token_fault = *fault;
  i->is_asking = false;
  pthread_cond_broadcast(&i->changed);
  pthread_mutex_unlock(&i->lock);
}

static void answered(void *context, const sbx_http_answer *answer) {
  sbx_instance *i = context;
  sbx_json_value root, value;
  sbx_str token = {0};
  int64_t life_s = 0;
  char *copy = NULL;
  smtp_verdict fault = unavailable("the token endpoint cannot be reached");
  if (answer->status == SBX_OK) {
    /* A refused client stays refused until somebody changes it; everything else may pass. */
    bool is_final = answer->http_status == 400 || answer->http_status == 401 || answer->http_status == 403;
    if (is_final) fault = smtp_decide(SBX_OUTCOME_AUTH, SBX_SCOPE_INSTANCE, "token_refused", "");
    snprintf(fault.detail, sizeof fault.detail, "the token endpoint answered %u", answer->http_status);
    fault.code = answer->http_status;
    if (answer->http_status == 200 && i->json->parse(i->host, answer->body, &root, NULL) == SBX_OK) {
      if (i->json->at(root, SBX_STR("/access_token"), &value) == SBX_OK) i->json->string(value, &token);
      if (i->json->at(root, SBX_STR("/expires_in"), &value) == SBX_OK) i->json->integer(value, &life_s);
      bool is_usable = token.len && token.len < SMTP_SECRET_MAX && !memchr(token.ptr, 0, token.len) && life_s > 0;
      if (is_usable) copy = strndup(token.ptr, token.len);
    }
  }
  keep(i, copy, life_s < LIFE_MAX_S ? life_s : LIFE_MAX_S, &fault);
}

/* Starts a call; false if it cannot be made. The secret is read each time, so that a changed file counts. */
static bool ask(sbx_instance *i) {
  const smtp_config *config = &i->config;
  char secret[1024];
  size_t len = sizeof secret;
  sbx_out form = sbx_out_begin();
  sbx_kv type = {SBX_STR("content-type"), SBX_STR("application/x-www-form-urlencoded")};
  sbx_http_call call = {.struct_size = sizeof call, .method = SBX_STR("POST"), .url = sbx_text(config->token_url),
                        .headers = &type, .header_count = 1, .timeout_ms = ASK_MS};
  if (i->secrets->get(i->host, SBX_STR("oauth.client_secret"), secret, &len) != SBX_OK) len = 0;
  while (len && (secret[len - 1] == '\n' || secret[len - 1] == '\r')) len--;
  sbx_put_text(&form, "grant_type=client_credentials&client_id=");
  sbx_put_percent(&form, sbx_text(config->client_id), "");
  sbx_put_text(&form, "&client_secret=");
  sbx_put_percent(&form, (sbx_str){secret, len}, "");
  if (config->scope[0]) sbx_put_text(&form, "&scope=");
  sbx_put_percent(&form, sbx_text(config->scope), "");
  call.body = sbx_out_text(&form);
  bool is_begun = len && !form.failed && i->http->submit(i->host, &call, answered, i) == SBX_OK;
  explicit_bzero(secret, sizeof secret);
  if (form.bytes) explicit_bzero(form.bytes, form.length);
  sbx_out_free(&form);
  return is_begun;
}

bool smtp_oauth_token(sbx_instance *i, char *token, uint64_t deadline_ns, smtp_verdict *fault) {
  pthread_mutex_lock(&i->lock);
  bool is_fresh = i->token && smtp_now_ns() < i->token_until_ns, must_ask = !is_fresh && !i->is_asking;
  if (must_ask) i->is_asking = true;
  pthread_mutex_unlock(&i->lock);
  if (must_ask && !ask(i)) {
    smtp_verdict unasked = unavailable("the token endpoint cannot be asked");
    keep(i, NULL, 0, &unasked);
  }
  pthread_mutex_lock(&i->lock);
  while (i->is_asking && i->phase == SMTP_RUNNING && smtp_wait(i, deadline_ns)) {
  }
  bool is_there = i->token && (is_fresh || !i->is_asking);
  if (is_there) strcpy(token, i->token);
  else *fault = i->is_asking ? unavailable("no answer in time") : i->token_fault;
  pthread_mutex_unlock(&i->lock);
  return is_there;
}
