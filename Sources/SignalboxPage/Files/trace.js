// What became of an event.

import { get } from "./api.js";
import { badge, el, into, note, said, time } from "./dom.js";

const kinds = [["user", "user"], ["subject", "subject (ticket/5)"], ["event", "event (number)"], ["device", "device's token"], ["source_id", "id at the source"]];
const good = { accepted: "good", delivered: "good", waiting: "fair", duplicate: "", skipped: "", unrouted: "fair", unreached: "fair" };

export function open(main, live, query) {
  const kind = el("select", { id: "trace-kind", name: "kind" }, kinds.map(([value, words]) => el("option", { value }, words)));
  const text = el("input", { id: "trace-text", type: "search", required: true, spellcheck: "false", autocomplete: "off" });
  const out = el("div", { "aria-live": "polite" });
  const search = () => into(out, () => find(kind.value, text.value.trim()));
  main.append(el("h2", {}, "Trace"), el("form", { class: "ask", onsubmit: (event) => {
    event.preventDefault();
    history.replaceState(null, "", `#/trace?${new URLSearchParams({ [kind.value]: text.value.trim() })}`);
    search();
  } }, el("label", { for: "trace-kind" }, "Find events by"), kind, el("label", { for: "trace-text", class: "unseen" }, "Value"), text,
  el("button", {}, "Search")), out);
  if (live.hello && !live.hello.history) out.append(note("gateway.history is false: nothing is kept for traces."));
  for (const [key, value] of query) {
    if (!kinds.some(([name]) => name === key)) continue;
    kind.value = key;
    text.value = value;
    search();
  }
}

async function find(kind, text) {
  const trace = await get(`/trace?${kind}=${encodeURIComponent(text)}`);
  if (!trace.events.length) return note("No event was found.");
  return [...trace.events.map(shown),
    trace.is_cut ? note("There may be older events: signalbox trace finds them with --before.") : null];
}

function shown(event) {
  const facts = [["from", event.source], ["about", event.subject], ["id there", event.source_id], ["gateway", event.gateway],
    ["duplicate of", event.duplicate_of]].filter(([, value]) => value != null && value !== "");
  const more = event.recipients_count - event.recipients.length;
  return el("article", { class: "card" },
    el("h3", {}, badge(event.result, good[event.result] ?? "bad"), " ", said(event.type)),
    el("p", { class: "quiet" }, `${time(event.received_unix_ms)}, event ${event.event}`),
    el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, said(value))])),
    el("ul", {}, event.routes.map((route) => el("li", {}, "route ", said(route.route), route.matches ? " takes it" : " does not take it: ",
      route.unmet ? said(route.unmet) : null, route.fault ? [" failed: ", said(route.fault)] : null))),
    event.routes.length ? null : note("No route takes this type of this source."),
    event.recipients.map(recipient),
    more > 0 ? note(`and ${more} recipients that you did not ask for`) : null,
    (event.opens ?? []).map((open) => el("p", {}, `${time(open.unix_ms)} opened `, said(open.who))));
}

function recipient(one) {
  return el("section", { class: "recipient" },
    el("p", {}, one.state ? badge(one.state, good[one.state] ?? "bad") : null, " ", said(one.user || "device"), " ",
      el("span", { class: "quiet" }, [one.platform, one.app, one.token].filter(Boolean).map((text) => [said(text), " "])),
      one.route ? ["on ", said(one.route), " "] : null, one.sender ? ["by ", said(one.sender)] : null,
      one.state === "skipped" ? [": ", said(one.reason)] : null,
      one.not_before_unix_ms ? `, not before ${time(one.not_before_unix_ms)} (filter)` : null),
    el("ol", { class: "steps" }, (one.steps ?? []).map((step) => el("li", {}, el("time", {}, time(step.unix_ms)), " ",
      step.attempt ? `attempt ${step.attempt}: ` : null, step.what.replaceAll("_", " "), " ", said(step.reason ?? ""), " ",
      step.detail ? said(step.detail) : null, step.code ? ` code ${step.code}` : null,
      step.next_unix_ms ? `, next at ${time(step.next_unix_ms)}` : null))),
    (one.held ?? []).map(waits));
}

// Why it is not sent.
function waits(hold) {
  const what = hold.sender ? ["The sender ", said(hold.sender)] : ["The route ", said(hold.route)];
  const why = [hold.by ? null : hold.cause, hold.reason, hold.detail].filter(Boolean).join(", ");
  return el("p", { class: hold.by ? "note" : "note bad" }, what, hold.by ? [" is paused by ", said(hold.by)] : " is held",
    ` since ${time(hold.since_unix_ms)}`, why ? [": ", said(why)] : null);
}
