// The devices of a user.

import { get } from "./api.js";
import { badge, el, into, note, said, table, time } from "./dom.js";

export function open(main, live, query) {
  const user = el("input", { id: "device-user", type: "search", required: true, spellcheck: "false", autocomplete: "off" });
  const out = el("div", { "aria-live": "polite" });
  const search = () => into(out, () => list(user.value.trim()));
  main.append(el("h2", {}, "Devices"), el("form", { class: "ask", onsubmit: (event) => {
    event.preventDefault();
    history.replaceState(null, "", `#/devices?${new URLSearchParams({ user: user.value.trim() })}`);
    search();
  } }, el("label", { for: "device-user" }, "Devices of the user"), user, el("button", {}, "Search")), out);
  if (!query.get("user")) return;
  user.value = query.get("user");
  search();
}

async function list(user) {
  const { devices } = await get(`/devices?user=${encodeURIComponent(user)}`);
  const trace = el("p", {}, el("a", { href: `#/trace?${new URLSearchParams({ user })}` }, "Trace of this user's events"));
  if (!devices.length) return [note("The registry has no device of this user."), trace];
  return [table("Devices", ["platform", "app", "token", "locale", "registered", "app is open", "attributes"], devices.map((one) => [
    said(one.platform), said(one.app || "(default)"), said(one.token), said(one.locale), time(one.registered_unix_ms),
    one.online ? badge("yes", "good") : "no",
    Object.entries(one.attributes).map(([name, value]) => el("div", {}, said(name), ": ", said(value)))])), trace];
}
