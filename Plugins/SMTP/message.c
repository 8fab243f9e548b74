/* message.c - a notification as a message: headers and body. */
#include "config.h"

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
    if (!sbx_is(one->key, "smtp")) continue;
    if (json->parse(host, one->value, &root, NULL) != SBX_OK || json->kind(root) != SBX_JSON_OBJECT) return false;
    if (!member(json, root, SBX_STR("/subject"), &out->subject) || !member(json, root, SBX_STR("/html"), &out->html))
      return false;
  }
  return true;
}

static void put_mailbox(sbx_out *out, const char *header, const smtp_mailbox *mailbox) {
  sbx_put_text(out, header);
  if (mailbox->name[0]) {
    smtp_put_phrase(out, sbx_text(mailbox->name), strlen(header));
    sbx_put_text(out, "\r\n ");
  }
  sbx_put_text(out, "<");
  sbx_put_text(out, mailbox->address);
  sbx_put_text(out, ">\r\n");
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

static void put_subject(sbx_out *out, const smtp_config *config, sbx_str subject) {
  sbx_out whole = {0};
  sbx_put_text(&whole, config->subject_prefix);
  if (whole.length && subject.len) sbx_put_text(&whole, " ");
  sbx_put(&whole, subject.ptr, subject.len);
  sbx_put_text(out, "Subject: ");
  smtp_put_header_text(out, sbx_out_text(&whole), 9);
  sbx_put_text(out, "\r\n");
  out->failed |= whole.failed;
  sbx_out_free(&whole);
}

/* Subtitle, body and link as paragraphs; the title alone if there is nothing else. */
static void put_plain(sbx_out *out, const sbx_notification *note) {
  const sbx_str parts[] = {note->subtitle, note->body, note->link};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    if (!parts[k].len) continue;
    if (out->length) sbx_put_text(out, "\n\n");
    sbx_put(out, parts[k].ptr, parts[k].len);
  }
  if (!out->length) sbx_put(out, note->title.ptr, note->title.len);
}

static void put_body(sbx_out *out, const sbx_notification *note, sbx_str html) {
  sbx_out plain = {0};
  put_plain(&plain, note);
  sbx_put_text(out, "MIME-Version: 1.0\r\n");
  if (!html.len) {
    smtp_put_part(out, "text/plain", sbx_out_text(&plain), true);
  } else {
    sbx_put_text(out, "Content-Type: multipart/alternative; boundary=\"=_signalbox\"\r\n\r\n--=_signalbox\r\n");
    smtp_put_part(out, "text/plain", sbx_out_text(&plain), false);
    sbx_put_text(out, "--=_signalbox\r\n");
    smtp_put_part(out, "text/html", html, false);
    sbx_put_text(out, "--=_signalbox--\r\n");
  }
  out->failed |= plain.failed;
  sbx_out_free(&plain);
}

static void put_date(sbx_out *out, uint64_t unix_ms) {
  static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  struct tm t = {0};
  time_t seconds = (time_t)(unix_ms / 1000);
  char text[64];
  gmtime_r(&seconds, &t);
  snprintf(text, sizeof text, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d +0000\r\n", days + 3 * t.tm_wday, t.tm_mday,
           months + 3 * t.tm_mon, t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  sbx_put_text(out, text);
}

static void put_ids(sbx_out *out, const smtp_config *config, sbx_str to, sbx_str stable_id) {
  sbx_put_text(out, "To: ");
  sbx_put(out, to.ptr, to.len);
  sbx_put_text(out, "\r\nMessage-ID: <");
  for (size_t k = 0; k < stable_id.len; k++) {
    /* A UUID in practice, but it must never end the header. */
    char c = stable_id.ptr[k];
    bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    sbx_put(out, is_plain ? &c : "_", 1);
  }
  sbx_put_text(out, strchr(config->from.address, '@'));
  sbx_put_text(out, ">\r\n");
}

const char *smtp_put_message(sbx_out *out, const sbx_host *host, const smtp_config *config,
                             const sbx_delivery *delivery, uint64_t unix_ms) {
  const sbx_notification *note = delivery->notification;
  override given = {0};
  bool is_shown = note->title.len || note->body.len;
  if (!read_overrides(host, note, &given)) return "malformed_overrides";
  if (!(note->flags & SBX_N_DRY_RUN) && (note->flags & SBX_N_SILENT || (!is_shown && !given.html.len)))
    return "nothing_to_show";
  if (note->body.len + note->title.len + given.html.len > SMTP_MESSAGE_MAX) return "message_too_large";
  put_date(out, unix_ms);
  put_ids(out, config, delivery->device->token, delivery->stable_id);
  put_mailbox(out, "From: ", &config->from);
  if (config->reply_to.address) put_mailbox(out, "Reply-To: ", &config->reply_to);
  put_subject(out, config, subject_of(note, &given));
  sbx_put_text(out, "Auto-Submitted: auto-generated\r\n");
  put_body(out, note, given.html);
  if (out->failed) return "no_memory";
  return out->length > SMTP_MESSAGE_MAX ? "message_too_large" : NULL;
}
