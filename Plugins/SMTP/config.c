/* config.c - the schema, and the reader behind it. */
#include "config.h"

#include <arpa/inet.h>

const char smtp_config_schema[] =
  "{\"type\":\"object\",\"family\":\"smtp\",\"platforms\":[\"email\"],\"addresses\":{},\"required\":[\"host\",\"from\"],\"properties\":{"
  "\"host\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9._:-]+$\",\"maxLength\":255,"
  "\"description\":\"name or address of the mail server, such as smtp.example.com\"},"
  "\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535,\"default\":587},"
  "\"security\":{\"type\":\"string\",\"enum\":[\"starttls\",\"tls\",\"none\"],\"default\":\"starttls\","
  "\"description\":\"starttls (usual on port 587), tls (from the first byte, port 465), or none\"},"
  "\"ca_file\":{\"type\":\"string\",\"format\":\"path\",\"default\":\"\","
  "\"description\":\"PEM file of trusted roots instead of the system's\"},"
  "\"username\":{\"type\":\"string\",\"maxLength\":255,\"default\":\"\","
  "\"description\":\"account to log in with; needs password\"},"
  "\"password\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":1024,"
  "\"description\":\"the account's password, such as ${file:secrets/smtp}\"},"
  "\"bearer_token\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":8192,"
  "\"description\":\"instead of password: an OAuth access token that something else renews, such as ${file:secrets/token}\"},"
  "\"oauth\":{\"type\":\"object\",\"description\":\"instead of password: gets access tokens with client credentials\","
  "\"required\":[\"token_url\",\"client_id\",\"client_secret\"],\"properties\":{"
  "\"token_url\":{\"type\":\"string\",\"format\":\"uri\",\"minLength\":1,\"maxLength\":1000},"
  "\"client_id\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":500},"
  "\"client_secret\":{\"type\":\"string\",\"format\":\"secret\",\"minLength\":1,\"maxLength\":1024},"
  "\"scope\":{\"type\":\"string\",\"maxLength\":1000,\"default\":\"\","
  "\"description\":\"such as https://outlook.office365.com/.default\"}}},"
  "\"from\":{\"type\":\"string\",\"minLength\":3,\"maxLength\":500,"
  "\"description\":\"the sender, such as Support <support@example.com>; bounces go there, too\"},"
  "\"reply_to\":{\"type\":\"string\",\"maxLength\":500,\"default\":\"\","
  "\"description\":\"where answers go, if not to from\"},"
  "\"subject_prefix\":{\"type\":\"string\",\"maxLength\":100,\"default\":\"\","
  "\"description\":\"text before every subject, such as [Example]\"},"
  "\"helo\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9.-]*$\",\"maxLength\":253,\"default\":\"\","
  "\"description\":\"name that this machine gives itself; empty: its host name, or else its address\"},"
  "\"connections_max\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":16,\"default\":2,"
  "\"description\":\"most connections at a time\"},"
  "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":30000,\"default\":10000,"
  "\"description\":\"how long one step may take: connecting, TLS, one answer\"}}}";

/* A config being read; after the first error the rest is skipped. */
typedef struct reader {
  const sbx_json *json;
  sbx_json_value root;
  sbx_error *error;
  sbx_status status;
} reader;

static void refuse(reader *in, const char *message) {
  if (in->status == SBX_OK) in->status = sbx_fail(in->error, SBX_E_INVALID, "%s", message);
}

/* The text at a path; empty if there is none. */
static sbx_str text_at(reader *in, sbx_str pointer) {
  sbx_json_value value;
  sbx_str text = {"", 0};
  if (in->json->at(in->root, pointer, &value) == SBX_OK) in->json->string(value, &text);
  return text;
}

static bool is_there(reader *in, sbx_str pointer) {
  sbx_json_value value;
  return in->json->at(in->root, pointer, &value) == SBX_OK;
}

static char *copy_at(reader *in, sbx_str pointer, const char *refusal) {
  sbx_str text = text_at(in, pointer);
  for (size_t k = 0; k < text.len; k++)
    if ((unsigned char)text.ptr[k] < ' ' || text.ptr[k] == 0x7F) refuse(in, refusal);
  char *copy = text.len ? strndup(text.ptr, text.len) : strdup("");
  if (!copy) in->status = SBX_E_INTERNAL;
  return copy;
}

static uint32_t number_at(reader *in, sbx_str pointer, uint32_t fallback) {
  sbx_json_value value;
  int64_t number = fallback;
  if (in->json->at(in->root, pointer, &value) == SBX_OK) in->json->integer(value, &number);
  return number < 0 || number > 65535 ? fallback : (uint32_t)number;
}

static void mailbox_at(reader *in, sbx_str pointer, smtp_mailbox *out, const char *refusal) {
  if (!smtp_mailbox_parse(text_at(in, pointer), out)) refuse(in, refusal);
}

/* The session checks the peer's actual address again before it connects. */
static bool is_loopback(const char *host) {
  struct in_addr address;
  if (inet_pton(AF_INET, host, &address) == 1) return ntohl(address.s_addr) >> 24 == 127;
  return !strcmp(host, "localhost") || !strcmp(host, "::1");
}

static void read_login(reader *in, smtp_config *config) {
  static const struct { sbx_str pointer; smtp_login login; } ways[] = {
    {{"/password", 9}, SMTP_PASSWORD}, {{"/bearer_token", 13}, SMTP_TOKEN}, {{"/oauth", 6}, SMTP_OAUTH}};
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    if (!is_there(in, ways[k].pointer)) continue;
    if (config->login) refuse(in, "password, bearer_token and oauth exclude each other");
    config->login = ways[k].login;
  }
  if (config->login && !config->username[0]) refuse(in, "password, bearer_token and oauth need username");
  if (config->username[0] && !config->login) refuse(in, "username needs password, bearer_token or oauth");
  if (config->login && config->security == SMTP_NONE && !is_loopback(config->host))
    refuse(in, "security none would send the login in the clear; only to this machine itself it may");
}

sbx_status smtp_config_read(const sbx_host *host, sbx_str text, smtp_config *config, sbx_error *error) {
  reader in = {.json = host->service(host, SBX_SVC_JSON), .error = error};
  sbx_status status = in.json->parse(host, text, &in.root, error);
  if (status != SBX_OK) return status;
  config->host = copy_at(&in, SBX_STR("/host"), "host has a control character");
  config->ca_file = copy_at(&in, SBX_STR("/ca_file"), "ca_file has a control character");
  config->username = copy_at(&in, SBX_STR("/username"), "username has a control character");
  config->subject_prefix = copy_at(&in, SBX_STR("/subject_prefix"), "subject_prefix has a control character");
  config->helo = copy_at(&in, SBX_STR("/helo"), "helo has a control character");
  config->token_url = copy_at(&in, SBX_STR("/oauth/token_url"), "token_url has a control character");
  config->client_id = copy_at(&in, SBX_STR("/oauth/client_id"), "client_id has a control character");
  config->scope = copy_at(&in, SBX_STR("/oauth/scope"), "scope has a control character");
  config->port = number_at(&in, SBX_STR("/port"), 587);
  config->connections_max = number_at(&in, SBX_STR("/connections_max"), 2);
  config->timeout_ms = number_at(&in, SBX_STR("/timeout_ms"), 10000);
  mailbox_at(&in, SBX_STR("/from"), &config->from, "from is neither an address nor \"Name <address>\"");
  if (text_at(&in, SBX_STR("/reply_to")).len)
    mailbox_at(&in, SBX_STR("/reply_to"), &config->reply_to, "reply_to is neither an address nor \"Name <address>\"");
  sbx_str security = text_at(&in, SBX_STR("/security"));
  if (sbx_is(security, "tls")) config->security = SMTP_TLS;
  if (sbx_is(security, "none")) config->security = SMTP_NONE;
  if (in.status == SBX_E_INTERNAL) return in.status;

  if (!config->connections_max) refuse(&in, "connections_max is 0");
  if (!config->host[0]) refuse(&in, "host is missing");
  read_login(&in, config);
  return in.status;
}

void smtp_config_free(smtp_config *config) {
  char *texts[] = {config->host, config->ca_file, config->username, config->subject_prefix,
                   config->helo, config->token_url, config->client_id, config->scope};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
  smtp_mailbox_free(&config->from);
  smtp_mailbox_free(&config->reply_to);
}
