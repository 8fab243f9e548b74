/* A filter for tests, which treats recipients by how their tokens end: "dropped" gets nothing, "late" gets other data after a
 * wait of `wait_ms` (of its options), and everybody else is not named. An event of the type "bad.WORD" does what the word says,
 * and one of the type "mute.WORD" too, but takes no notice of the host's answer. */
#include <signalbox/plugin.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) ((sbx_str){s, sizeof(s) - 1})

struct sbx_instance {
  const sbx_host *host;
};

static sbx_status create(const sbx_host *host, sbx_str config, sbx_instance **out, sbx_error *error) {
  (void)config, (void)error;
  if (!(*out = calloc(1, sizeof **out))) return SBX_E_INTERNAL;
  (*out)->host = host;
  return SBX_OK;
}

static void destroy(sbx_instance *i) { free(i); }

static int is(sbx_str text, const char *word) { return text.len == strlen(word) && !memcmp(text.ptr, word, text.len); }

static int ends(sbx_str text, const char *word) {
  size_t len = strlen(word);
  return text.len >= len && !memcmp(text.ptr + text.len - len, word, len);
}

/* The status that the host gives to a wrong call comes back as that of filter(). */
static sbx_status misuse(const sbx_filter_input *input, sbx_str word, sbx_filter_sink *sink, sbx_error *error) {
  static const uint32_t twice[] = {0, 0}, far[] = {70000}, first[] = {0};
  sbx_filter_part part = {.struct_size = sizeof part, .recipients = first, .recipient_count = 1};
  strcpy(error->message, "as the host said");
  if (is(word, "twice")) return sink->drop(sink, twice, 2, STR("x"));
  if (is(word, "again")) return sink->drop(sink, first, 1, STR("x")), sink->pass(sink, &part);
  if (is(word, "index")) return sink->drop(sink, far, 1, STR("x"));
  if (is(word, "data")) return part.data = STR("[1]"), sink->pass(sink, &part);
  if (is(word, "wait"))
    return part.not_before_unix_ms = input->now_unix_ms + 31ull * 86400000, sink->pass(sink, &part);
  if (is(word, "size")) return part.struct_size = 4, sink->pass(sink, &part);
  if (is(word, "huge")) {
    size_t len = (1 << 20) + 1;
    char *text = malloc(len);
    memset(text, ' ', len);
    text[0] = '{', text[len - 1] = '}';
    part.data = (sbx_str){text, len};
    sbx_status status = sink->pass(sink, &part);
    free(text);
    return status;
  }
  if (is(word, "smaller")) return part.data = STR("[]"), sink->pass(sink, &part), part.data.len = 0, sink->pass(sink, &part);
  return SBX_E_INVALID;
}

static sbx_status filter(sbx_instance *i, const sbx_filter_input *input, sbx_filter_sink *sink, sbx_error *error) {
  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
  sbx_json_value root, value;
  int64_t wait_ms = 0;
  sbx_str type = input->event->type;
  if (type.len > 4 && !memcmp(type.ptr, "bad.", 4)) return misuse(input, (sbx_str){type.ptr + 4, type.len - 4}, sink, error);
  if (type.len > 5 && !memcmp(type.ptr, "mute.", 5))
    return misuse(input, (sbx_str){type.ptr + 5, type.len - 5}, sink, error), SBX_OK;
  sbx_status status = json->parse(i->host, input->options, &root, error);
  if (status) return status;
  if (!json->at(root, STR("/wait_ms"), &value)) json->integer(value, &wait_ms);
  for (uint32_t k = 0; k < input->recipient_count && !status; k++) {
    sbx_str token = SBX_AT(sbx_recipient, input->recipients, k, input->recipient_stride)->device->token;
    sbx_filter_part part = {.struct_size = sizeof part, .recipients = &k, .recipient_count = 1,
                            .data = STR("{\"title\":\"of the filter\"}"),
                            .not_before_unix_ms = wait_ms ? input->now_unix_ms + (uint64_t)wait_ms : 0};
    if (ends(token, "dropped")) status = sink->drop(sink, &k, 1, STR("named_so"));
    if (ends(token, "late")) status = sink->pass(sink, &part);
  }
  return status;
}

static const sbx_filter filters = {
    sizeof filters, 0, "{\"type\":\"object\",\"properties\":{\"wait_ms\":{\"type\":\"integer\",\"default\":0}}}", filter};
static const void *role(const char *id) { return strcmp(id, SBX_ROLE_FILTER) ? NULL : &filters; }
static const char *const roles[] = {SBX_ROLE_FILTER, NULL}, *const needs[] = {SBX_SVC_JSON, NULL};
static const sbx_plugin plugin = {
    sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 1, 0, "org.example.by-token", "1.0.0", "filters by token", roles, needs,
    NULL, create, role, NULL, NULL, destroy};
const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, sbx_error *error) { return (void)host, (void)error, &plugin; }
