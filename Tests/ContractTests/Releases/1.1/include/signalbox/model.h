/* signalbox/model.h - the nouns that cross the contract: device, recipient, event, notification,
 * delivery, outcome, change. All are read-only for the side that receives them. */
#ifndef SIGNALBOX_MODEL_H
#define SIGNALBOX_MODEL_H
#include "types.h"

/* One installation of one app. */
typedef struct sbx_device {
  uint32_t struct_size, reserved;
  sbx_str app;           /* bundle id or project; empty: the sender's default app */
  sbx_str platform;      /* "ios" | "android" | "huawei" | "web" | ...: chooses the sender in a route */
  sbx_str provider;      /* "apns" | "fcm" | "hms" | ...; empty: follows from the platform */
  sbx_str token;         /* as the provider wants it; the plugin that knows the source cleans it; at most 4,096 bytes */
  sbx_str source_token;  /* exactly as the source delivered it; empty: same as token */
  sbx_str user;          /* the source's user id; may be empty */
  sbx_str locale;        /* BCP 47 ("de-AT"); may be empty */
  uint64_t registered_unix_ms;  /* in Unix milliseconds, as the registry has it; 0: unknown, the token came
                                * with the event. If not 0, a push that waits is given up when the
                                * registry has the device for this user no longer */
  const sbx_kv *attributes;  /* what else its registration said ("muted"); the registry keeps at most 16 of 256 bytes */
  size_t attribute_count;
} sbx_device;

/* Who should get an event: a token (device->token given) or a user (only device->user given; the
 * host resolves it through its registry before it calls build). */
typedef struct sbx_recipient {
  uint32_t struct_size, reserved;
  const sbx_device *device;
  const sbx_kv *attributes;  /* what the source knows of this recipient: "unread", "mentioned", "online" */
  size_t attribute_count;
} sbx_recipient;

/* Something happened at the source. */
typedef struct sbx_event {
  uint32_t struct_size, reserved;
  sbx_str type;     /* "ticket.replied": dotted, lower case, from a closed list of the plugin */
  sbx_str subject;  /* what it is about: "ticket/5" */
  sbx_str dedupe;   /* empty: none. The same key of one instance is accepted once per window */
  sbx_str data;     /* a JSON object; routes and templates read it */
  uint64_t time_unix_ms;  /* 0: the time of receipt */
  const sbx_recipient *recipients;
  size_t recipient_count, recipient_stride;
  uint64_t dedupe_window_ms;  /* how long the source may send this event again; 0: the host's own window. gateway.yaml
                               * overrules it. More than 7 days count as 7 days. Since 1.1 */
} sbx_event;

/* Neutral content, known to every sender. A zeroed struct is a valid empty one. */
#define SBX_N_SILENT    1u  /* wake the app, show nothing */
#define SBX_N_DATA_ONLY 2u  /* where the provider can leave display to the app (FCM), let it */
#define SBX_N_MUTABLE   4u  /* the app may change the notification before it is shown */
#define SBX_N_BADGE     8u  /* `badge` is given; without this bit the device's badge stays */
#define SBX_N_DRY_RUN  16u  /* prove that the device can be reached, and show nothing. By the provider's own
                             * test where it has one (FCM), else by a silent push (APNs). The result goes to the
                             * event's plugin as SBX_CHANGE_PROVEN or SBX_CHANGE_UNPROVEN. */
#define SBX_N_WITHDRAW 64u  /* remove the notification shown under `collapse`, show nothing. Needs collapse. Since 1.1 */
#define SBX_PRIORITY_LOW    1u
#define SBX_PRIORITY_NORMAL 5u
#define SBX_PRIORITY_HIGH   10u
typedef struct sbx_notification {
  uint32_t struct_size, flags;  /* SBX_N_*; unknown bits are ignored */
  uint32_t priority;            /* SBX_PRIORITY_*; 0: as the route says */
  int32_t badge;                /* number on the app's icon; 0 clears it */
  uint64_t expires_unix_ms;     /* worthless after this, in Unix milliseconds; 0: as the route says */
  sbx_str title;                /* first line */
  sbx_str subtitle;             /* second line (iOS) */
  sbx_str body;                 /* text */
  sbx_str sound;                /* name of a sound; "default" for the system's */
  sbx_str thread;               /* groups notifications on the device */
  sbx_str category;             /* the app's set of actions */
  sbx_str collapse;             /* a newer notification with the same key replaces the shown one */
  sbx_str image_url;            /* picture to show */
  sbx_str link;                 /* what a tap opens */
  sbx_str push_type;            /* the provider's word ("voip", "liveactivity"); empty: follows from the content */
  sbx_str data;                 /* a JSON object or empty; its members become the payload's custom keys */
  const sbx_kv *overrides;      /* JSON objects laid over the payload last, by family of senders ("apns", "fcm"). The
                                 * bundled senders have "apns", "fcm", "hms" and "smtp"; others name theirs as "family" at
                                 * the root of its config_schema. A sender reads its own key alone. Since 1.1,
                                 * two keys are reserved and name no family. "shorten": { "places": [...],
                                 * "whole": [...], "omit": [...] }, JSON pointers into `data` (or what a family's override
                                 * makes of it): texts that may be shortened, what of them stays whole, and members that may
                                 * be left out, the first ones first; a step "*" is each element or member, from the last to
                                 * the first. "localized": { "title":
                                 * { "loc_key": "...", "loc_args": [...] } }, likewise subtitle and body: a text of the
                                 * app's resources in place of the field */
  size_t override_count;
} sbx_notification;

/* One notification on its way to one device. */
#define SBX_D_BADGE 1u
typedef struct sbx_delivery {
  uint32_t struct_size, flags;  /* SBX_D_* */
  uint32_t attempt;             /* 1, 2, ... */
  int32_t badge;                /* with SBX_D_BADGE: this device's badge; wins over the notification's */
  uint64_t id;                  /* unique among deliveries in flight; name it in requests and outcomes */
  uint64_t deadline_unix_ms;    /* worthless afterwards; 0: none */
  sbx_str stable_id;            /* a UUID, the same on every attempt: apns-id, Message-ID */
  const sbx_notification *notification;  /* equal pointers in one batch: equal content, render it once */
  const sbx_device *device;
  uint64_t event_unix_ms;       /* when its event arrived, in Unix milliseconds; the same on every attempt and for equal
                                 * content; 0: unknown. Since 1.1 */
} sbx_delivery;

/* The result of one delivery or one change. */
#define SBX_OUTCOME_DELIVERED   1u  /* the provider took it */
#define SBX_OUTCOME_RETRY       2u  /* a temporary failure: retry at the route's pace or later */
#define SBX_OUTCOME_THROTTLED   3u  /* too fast: retry, not before retry_after_ms; everything of its scope pauses so long */
#define SBX_OUTCOME_UNREGISTERED 4u /* the token is dead: forget it, tell its source */
#define SBX_OUTCOME_AUTH        5u  /* our credential was refused: refresh `credential`, then retry */
#define SBX_OUTCOME_CONFIG      6u  /* wrong configuration; nothing of this scope can succeed until it is fixed. An item fails;
                                     * an app's or instance's deliveries are kept, and one is tried now and then */
#define SBX_OUTCOME_REJECTED    7u  /* this content can never succeed */
/* What an outcome is about, beside its own item. One with a wider scope uses up no attempt of its delivery: it is not
 * the delivery's fault. So claim a scope only where it holds for every delivery of it. */
#define SBX_SCOPE_ITEM     0u
#define SBX_SCOPE_APP      1u  /* every delivery of this app: wrong topic, a project's quota */
#define SBX_SCOPE_INSTANCE 2u  /* every delivery of this instance: credentials, provider down */
#define SBX_OUTCOME_RECONNECT 1u  /* flag: take no further request to the connection that answered */
#define SBX_OUTCOME_SUSPECT   2u  /* flag, with REJECTED: the provider blames the token, and may mean the content. The host
                                   * makes UNREGISTERED of it if the provider accepted no push to this token before. Since 1.1 */
typedef struct sbx_outcome {
  uint32_t struct_size;
  uint32_t kind;                 /* SBX_OUTCOME_*; 0 or unknown: misbehaviour, treated as RETRY */
  uint32_t scope, flags;
  uint64_t item;                 /* the id of the delivery or change */
  uint64_t retry_after_ms;       /* can only lengthen the route's own wait; 0: no hint */
  uint64_t gone_since_unix_ms;   /* UNREGISTERED: a token registered after this lives; 0: unknown */
  uint32_t provider_code, reserved;
  sbx_str reason;                /* from a closed list of the plugin: fit for a metric label; at most 128 bytes */
  sbx_str detail;                /* for people, kept with a dead letter; no token, secret or body; at most 1 KiB */
  sbx_str provider_id;           /* the provider's id of the message; at most 1 KiB */
  sbx_str new_token;             /* the provider says: use this one from now on */
  sbx_str credential;            /* AUTH: which credential of sbx.credential/1 to refresh */
} sbx_outcome;

/* A device was added, removed or reported dead. */
#define SBX_CHANGE_REGISTERED   1u
#define SBX_CHANGE_UNREGISTERED 2u  /* by the user or the app: logout */
#define SBX_CHANGE_INVALID      3u  /* a provider reported the token dead */
#define SBX_CHANGE_PROVEN       4u  /* a dry run of this plugin's event reached it */
#define SBX_CHANGE_UNPROVEN     5u  /* that dry run failed for good; `reason` says why */
typedef struct sbx_change {
  uint32_t struct_size, kind;  /* SBX_CHANGE_* */
  uint64_t id;                 /* the host's; 0 when a plugin reports the change */
  uint64_t time_unix_ms;
  const sbx_device *device;
  sbx_str reason;              /* the provider's word for it: "Unregistered"; may be empty */
  sbx_str subject;             /* PROVEN, UNPROVEN: the subject of the event that asked for the dry run */
} sbx_change;

#endif
