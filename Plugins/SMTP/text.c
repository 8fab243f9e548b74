/* text.c - text encodings for mail: RFC 2045 bodies, RFC 2047 headers. */
#include "message.h"

static bool is_control(char c) { return (unsigned char)c < ' ' || c == 0x7F; }

/* Text with CRLF line ends, also at its end, and without control characters except tabs. */
static void put_canonical(sbx_out *out, sbx_str text) {
  for (size_t k = 0; k < text.len;) {
    size_t len = smtp_utf8_length(text.ptr + k, text.len - k);
    char c = text.ptr[k];
    if (c == '\n' || (c == '\r' && (k + 1 == text.len || text.ptr[k + 1] != '\n'))) sbx_put(out, "\r\n", 2);
    else if (c == '\t' || (len && !is_control(c))) sbx_put(out, text.ptr + k, len);
    k += len ? len : 1;
  }
  if (!out->length || out->bytes[out->length - 1] != '\n') sbx_put(out, "\r\n", 2);
}

/* Base64 of canonical text, in lines of 76. */
static void put_base64_body(sbx_out *out, sbx_str text) {
  for (size_t k = 0; k < text.len; k += 57) {
    sbx_put_base64(out, (sbx_str){text.ptr + k, text.len - k < 57 ? text.len - k : 57});
    sbx_put(out, "\r\n", 2);
  }
}

/* Quoted-printable of canonical text, RFC 2045 section 6.7. */
static void put_quoted_printable(sbx_out *out, sbx_str text) {
  size_t column = 0;
  for (size_t k = 0; k < text.len; k++) {
    unsigned char c = (unsigned char)text.ptr[k];
    if (c == '\r') {
      sbx_put(out, "\r\n", 2);
      column = 0;
      k++;
      continue;
    }
    bool is_line_end = text.ptr[k + 1] == '\r';  /* canonical text ends in CRLF, so there is a next byte */
    bool is_plain = (c > ' ' && c < 0x7F && c != '=') || ((c == ' ' || c == '\t') && !is_line_end);
    size_t len = is_plain ? 1 : 3;
    if (column + len > (is_line_end ? 76 : 75)) {
      sbx_put(out, "=\r\n", 3);
      column = 0;
    }
    char hex[3] = {'=', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
    sbx_put(out, is_plain ? text.ptr + k : hex, len);
    column += len;
  }
}

void smtp_put_part(sbx_out *out, const char *type, sbx_str text, bool may_be_7bit) {
  sbx_out canonical = {0};
  put_canonical(&canonical, text);
  sbx_str body = sbx_out_text(&canonical);
  size_t beyond = 0, column = 0;
  for (size_t k = 0; k < body.len; k++) {
    beyond += (unsigned char)body.ptr[k] >= 0x80;
    column = body.ptr[k] == '\n' ? 0 : column + 1;
    if (column > 78 + 1) may_be_7bit = false;  /* and the CR */
  }
  sbx_put_text(out, "Content-Type: ");
  sbx_put_text(out, type);
  sbx_put_text(out, "; charset=utf-8\r\nContent-Transfer-Encoding: ");
  if (may_be_7bit && !beyond) {
    sbx_put_text(out, "7bit\r\n\r\n");
    sbx_put(out, body.ptr, body.len);
  } else if (beyond > body.len / 4) {
    sbx_put_text(out, "base64\r\n\r\n");
    put_base64_body(out, body);
  } else {
    sbx_put_text(out, "quoted-printable\r\n\r\n");
    put_quoted_printable(out, body);
  }
  out->failed |= canonical.failed;
  sbx_out_free(&canonical);
}

/* Encoded words of at most 75 bytes in lines of at most 76; none ends inside a character. */
static void put_encoded_words(sbx_out *out, sbx_str text, size_t column) {
  for (size_t k = 0; k < text.len;) {
    size_t room = column < 60 ? (76 - column - 12) / 4 * 3 : 0;
    if (room > 45) room = 45;
    size_t end = k, len = 1;
    while (end < text.len && (len = smtp_utf8_length(text.ptr + end, text.len - end)) && end + len - k <= room)
      end += len;
    if (end > k) {
      sbx_put_text(out, "=?UTF-8?B?");
      sbx_put_base64(out, (sbx_str){text.ptr + k, end - k});
      sbx_put_text(out, "?=");
      k = end;
    }
    if (k < text.len) {
      sbx_put_text(out, "\r\n ");
      column = 1;
    }
  }
}

/* The text on one line: control characters and bytes that are not UTF-8 become spaces, ends are trimmed. */
static void flatten(sbx_out *out, sbx_str text) {
  for (size_t k = 0; k < text.len;) {
    size_t len = smtp_utf8_length(text.ptr + k, text.len - k);
    bool is_space = !len || is_control(text.ptr[k]) || text.ptr[k] == ' ';
    if (!is_space) sbx_put(out, text.ptr + k, len);
    else if (out->length && out->bytes[out->length - 1] != ' ') sbx_put_text(out, " ");
    k += len ? len : 1;
  }
  if (out->length && out->bytes[out->length - 1] == ' ') out->length--;
}

static bool is_ascii(sbx_str text) {
  for (size_t k = 0; k < text.len; k++)
    if ((unsigned char)text.ptr[k] >= 0x80) return false;
  return true;
}

void smtp_put_header_text(sbx_out *out, sbx_str text, size_t column) {
  sbx_out flat = {0};
  flatten(&flat, text);
  sbx_str line = sbx_out_text(&flat);
  /* The reader would decode plain text that looks like an encoded word. */
  bool looks_encoded = false;
  for (size_t k = 0; k + 1 < line.len; k++) looks_encoded |= line.ptr[k] == '=' && line.ptr[k + 1] == '?';
  if (is_ascii(line) && !looks_encoded && column + line.len <= 76) sbx_put(out, line.ptr, line.len);
  else put_encoded_words(out, line, column);
  out->failed |= flat.failed;
  sbx_out_free(&flat);
}

void smtp_put_phrase(sbx_out *out, sbx_str text, size_t column) {
  if (!is_ascii(text) || column + 2 * text.len > 74) {
    put_encoded_words(out, text, column);
    return;
  }
  sbx_put_text(out, "\"");
  for (size_t k = 0; k < text.len; k++) {
    if (text.ptr[k] == '"' || text.ptr[k] == '\\') sbx_put_text(out, "\\");
    sbx_put(out, text.ptr + k, 1);
  }
  sbx_put_text(out, "\"");
}
