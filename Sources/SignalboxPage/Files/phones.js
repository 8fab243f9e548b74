// How a push looks on a lock screen, as far as its payload says it.

import { el, said } from "./dom.js";

// A localisation key is in the app alone, so the key is shown with what fills it.
const localised = (key, values) => key ? `${key}${values?.length ? ` (${values.join(", ")})` : ""}` : "";

function apple(aps) {
  if (!aps) return null;
  const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert ?? {};
  return {
    title: alert.title || localised(alert["title-loc-key"], alert["title-loc-args"]),
    subtitle: alert.subtitle || localised(alert["subtitle-loc-key"], alert["subtitle-loc-args"]),
    body: alert.body || localised(alert["loc-key"], alert["loc-args"]),
    badge: aps.badge, urgent: aps["interruption-level"],
  };
}

function google(message) {
  const own = message.android?.notification ?? {};
  const both = message.notification ?? {};
  const of = (name) => own[name] || localised(own[`${name}_loc_key`], own[`${name}_loc_args`]) || both[name];
  return { title: of("title"), body: of("body"), badge: own.notification_count, image: own.image ?? both.image, channel: own.channel_id };
}

// What the payload shows: from the request's body, or else from the notification.
function content(push) {
  const body = push.requests[0]?.body;
  if (body?.aps) return apple(body.aps);
  const message = body?.message;
  if (push.platform === "ios" && message?.apns?.payload?.aps) {
    const own = apple(message.apns.payload.aps);
    return { ...own, title: own.title || message.notification?.title, body: own.body || message.notification?.body };
  }
  if (message?.notification || message?.android?.notification) return google(message);
  return push.alert;
}

const isShown = (shown) => shown && (shown.title || shown.subtitle || shown.body);

export function phone(push) {
  const isApple = push.platform === "ios";
  const shown = content(push);
  const topic = push.requests[0]?.headers?.["apns-topic"] ?? push.app ?? "";
  const app = topic.split(".").pop() || "your app";
  const words = `${isApple ? "An iPhone's" : "An Android's"} lock screen`;
  const isSilent = !isShown(shown);
  const rest = isSilent ? [el("p", { class: "silent" }, push.alert && isShown(push.alert)
    ? "The app shows it itself, from the data of the push." : "The payload shows nothing; the app decides.")] : [];
  return el("figure", { class: `phone ${isApple ? "iphone" : "android"}` },
    el("div", { class: "screen" }, el("p", { class: "clock", "aria-hidden": "true" }, "9:41"),
      isSilent ? rest : card(isApple, app, shown)),
    el("figcaption", {}, words));
}

function card(isApple, app, shown) {
  const icon = el("span", { class: "icon", "aria-hidden": "true" }, app.slice(0, 1).toUpperCase(),
    isApple && shown.badge ? el("span", { class: "count" }, String(shown.badge)) : null);
  const extra = [
    shown.image ? el("p", { class: "image" }, "image: ", said(shown.image)) : null,
    shown.badge != null ? el("p", { class: "under" }, `badge ${shown.badge}`) : null,
  ];
  const texts = [
    shown.title ? el("p", { class: "title" }, said(shown.title)) : null,
    shown.subtitle ? el("p", { class: "subtitle" }, said(shown.subtitle)) : null,
    shown.body ? el("p", { class: "body" }, said(shown.body)) : null,
  ];
  return isApple
    ? [el("div", { class: "alert" }, icon, el("div", { class: "texts" }, el("p", { class: "when" }, shown.title ? "now" : [said(app), " now"]), texts)), extra]
    : [el("div", { class: "alert" }, icon, el("div", { class: "texts" }, el("p", { class: "when" }, said(app), " · now"), texts)), extra];
}
