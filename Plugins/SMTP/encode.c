#include "encode.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The overrides of the family "smtp". */
typedef struct override {
  sbx_str subject, html;
} override;

static bool member(const sbx_json *json, sbx_json_value root, sbx_str pointer, sbx_str *out) {
  sbx_json_value value;
  return json->at(root, pointer, &value) != SBX_OK || json->string(value, out) == SBX_OK;
}

static bool read_overrides(const sbx_host *host, const sbx_notification *note, override *out) {
  const sbx_json *json = host->service(host, SBX_SVC_JSON);
  for (size_t k = 0; k < note->override_count; k++) {
    const sbx_kv *one = &note->overrides[k];
    sbx_json_value root;
    if (one->key.len != 4 || memcmp(one->key.ptr, "smtp", 4)) continue;
    if (json->parse(host, one->value, &root, NULL) != SBX_OK || json->kind(root) != SBX_JSON_OBJECT) return false;
    if (!member(json, root, STR("/subject"), &out->subject) || !member(json, root, STR("/html"), &out->html))
      return false;
  }
  return true;
}

static void put_mailbox(smtp_buffer *out, const char *header, const smtp_mailbox *mailbox) {
  smtp_put_text(out, header);
  if (mailbox->name[0]) {
    smtp_put_phrase(out, (sbx_str){mailbox->name, strlen(mailbox->name)}, strlen(header));
    smtp_put_text(out, "\r\n ");
  }
  smtp_put_byte(out, '<');
  smtp_put_text(out, mailbox->address);
  smtp_put_text(out, ">\r\n");
}

/* The title, or the beginning of the body's first line. */
static sbx_str subject_of(const sbx_notification *note, const override *given) {
  if (given->subject.len) return given->subject;
  if (note->title.len) return note->title;
  sbx_str line = note->body;
  size_t end = 0;
  while (end < line.len && end < 72 && line.ptr[end] != '\n' && line.ptr[end] != '\r') end++;
  while (end < line.len && end && ((unsigned char)line.ptr[end] & 0xC0) == 0x80) end--;
  return (sbx_str){line.ptr, end};
}

static void put_subject(smtp_buffer *out, const smtp_config *config, sbx_str subject) {
  smtp_buffer whole = {0};
  smtp_put_text(&whole, config->subject_prefix);
  if (whole.len && subject.len) smtp_put_byte(&whole, ' ');
  smtp_put_str(&whole, subject);
  smtp_put_text(out, "Subject: ");
  smtp_put_header_text(out, smtp_buffer_str(&whole), 9);
  smtp_put_text(out, "\r\n");
  out->has_failed |= whole.has_failed;
  smtp_buffer_free(&whole);
}

/* Subtitle, body and link as paragraphs; the title alone if there is nothing else. */
static void put_plain(smtp_buffer *out, const sbx_notification *note) {
  const sbx_str parts[] = {note->subtitle, note->body, note->link};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    if (!parts[k].len) continue;
    if (out->len) smtp_put_text(out, "\n\n");
    smtp_put_str(out, parts[k]);
  }
  if (!out->len) smtp_put_str(out, note->title);
}

static void put_body(smtp_buffer *out, const sbx_notification *note, sbx_str html) {
  smtp_buffer plain = {0};
  put_plain(&plain, note);
  smtp_put_text(out, "MIME-Version: 1.0\r\n");
  if (!html.len) {
    smtp_put_part(out, "text/plain", smtp_buffer_str(&plain), true);
  } else {
    smtp_put_text(out, "Content-Type: multipart/alternative; boundary=\"=_signalbox\"\r\n\r\n--=_signalbox\r\n");
    smtp_put_part(out, "text/plain", smtp_buffer_str(&plain), false);
    smtp_put_text(out, "--=_signalbox\r\n");
    smtp_put_part(out, "text/html", html, false);
    smtp_put_text(out, "--=_signalbox--\r\n");
  }
  out->has_failed |= plain.has_failed;
  smtp_buffer_free(&plain);
}

smtp_content *smtp_content_make(const sbx_host *host, const smtp_config *config, const sbx_notification *note,
                                const char **fault) {
  override given = {0};
  bool is_shown = note->title.len || note->body.len;
  *fault = "malformed_overrides";
  if (!read_overrides(host, note, &given)) return NULL;
  *fault = "nothing_to_show";
  if (!(note->flags & SBX_N_DRY_RUN) && (note->flags & SBX_N_SILENT || (!is_shown && !given.html.len))) return NULL;
  *fault = "message_too_large";
  if (note->body.len + note->title.len + given.html.len > SMTP_MESSAGE_MAX) return NULL;
  *fault = "no_memory";
  smtp_content *content = calloc(1, sizeof *content);
  if (!content) return NULL;
  atomic_init(&content->owners, 1);
  content->needs_utf8 = config->from.is_utf8 || config->reply_to.is_utf8;
  put_mailbox(&content->text, "From: ", &config->from);
  if (config->reply_to.address) put_mailbox(&content->text, "Reply-To: ", &config->reply_to);
  put_subject(&content->text, config, subject_of(note, &given));
  smtp_put_text(&content->text, "Auto-Submitted: auto-generated\r\n");
  put_body(&content->text, note, given.html);
  if (!content->text.has_failed && content->text.len <= SMTP_MESSAGE_MAX) return content;
  if (!content->text.has_failed) *fault = "message_too_large";
  smtp_content_release(content);
  return NULL;
}

smtp_content *smtp_content_share(smtp_content *content) {
  atomic_fetch_add(&content->owners, 1);
  return content;
}

void smtp_content_release(smtp_content *content) {
  if (!content || atomic_fetch_sub(&content->owners, 1) > 1) return;
  smtp_buffer_free(&content->text);
  free(content);
}

static void put_date(smtp_buffer *out, uint64_t unix_ms) {
  static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  struct tm t = {0};
  time_t seconds = (time_t)(unix_ms / 1000);
  char text[64];
  gmtime_r(&seconds, &t);
  snprintf(text, sizeof text, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d +0000\r\n", days + 3 * t.tm_wday, t.tm_mday,
           months + 3 * t.tm_mon, t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  smtp_put_text(out, text);
}

void smtp_put_own_headers(smtp_buffer *out, const smtp_config *config, sbx_str to, sbx_str stable_id,
                          uint64_t unix_ms) {
  put_date(out, unix_ms);
  smtp_put_text(out, "To: ");
  smtp_put_str(out, to);
  smtp_put_text(out, "\r\nMessage-ID: <");
  for (size_t k = 0; k < stable_id.len; k++) {
    /* A UUID in practice, but it must never end the header. */
    char c = stable_id.ptr[k];
    bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    smtp_put_byte(out, is_plain ? c : '_');
  }
  smtp_put_text(out, strchr(config->from.address, '@'));
  smtp_put_text(out, ">\r\n");
}
