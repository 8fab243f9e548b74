/* signalbox/service/fit.h - makes a payload fit a provider's limit: shortens texts for people, and leaves out
 * members that the builder can do without. Since 1.1. */
#ifndef SIGNALBOX_SERVICE_FIT_H
#define SIGNALBOX_SERVICE_FIT_H
#include "../types.h"
struct sbx_host;

#define SBX_FIT_TEXTS 1u  /* count member names and texts as raw UTF-8 (FCM's data), not bytes of JSON */
#define SBX_FIT_PLAIN 2u  /* the payload is no JSON but the text of a body: it is cut as one. Places are not read */
#define SBX_FIT_UTF16 4u  /* with SBX_FIT_PLAIN: bytes_max counts UTF-16 code units */

/* A payload as it would be sent, overrides included, and what may be shortened in it. Pointers are of RFC 6901;
 * one that continues behind a string looks into the JSON that the string holds ("/data/sendbird/message").
 * One that names an object or array means all texts inside. Places that do not exist are no fault. */
typedef struct sbx_fit_request {
  uint32_t struct_size, flags;  /* SBX_FIT_* */
  uint64_t bytes_max;
  sbx_str payload;              /* a JSON object; a text with SBX_FIT_PLAIN */
  const sbx_kv *places;         /* key: "body", "subtitle" or "title"; value: a pointer */
  size_t place_count;
  const sbx_str *counted;       /* pointers to the parts that count; none: the whole payload */
  size_t counted_count;
  sbx_str data;                 /* a pointer to where the notification's data is in the payload; empty: at the top */
  sbx_str shorten;              /* the notification's override "shorten" (model.h); empty: none */
} sbx_fit_request;

#define SBX_SVC_FIT "sbx.fit/1"
typedef struct sbx_fit {
  uint32_t struct_size, reserved;
  /* The payload, within bytes_max. Texts are cut where a visible character ends, with "…": the body and the
   * places that the builder named first, the longest most, then the subtitle, then the title. If less than their
   * beginnings would be left, members go that the builder can do without, in its order and no more than needed. Counted in
   * signalbox_shortened_total. A payload that fits comes back as it is.
   * Owner: the host. Lifetime of *out: until the role call returns.
   * Statuses: OK, INVALID (the payload or `shorten` is malformed), TOO_LARGE (without all of these texts
   * and members it would still be too large). Thread: the thread of the role call. Since 1.1. */
  sbx_status (*fit)(const struct sbx_host *host, const sbx_fit_request *request, sbx_str *out, sbx_error *error);
} sbx_fit;

#endif
