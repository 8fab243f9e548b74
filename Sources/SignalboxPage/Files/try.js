// A dry run: what would this event or webhook send? Nothing is sent or stored.

import { post } from "./api.js";
import { badge, el, into, note, said } from "./dom.js";
import { phone } from "./phones.js";

const sample = JSON.stringify({ type: "ticket.replied", subject: "ticket/5", recipients: [{ user: "u-1" }],
  data: { title: "Hello", body: "It works" } }, null, 2);
// Kept while the page is open, so that a look at another part costs nothing.
const given = { what: "webhook", from: null, headers: "", text: "" };

export function open(main, live) {
  const names = live.hello?.instances ?? [];
  const sources = [...new Set((live.hello?.graph.nodes ?? []).filter((node) => node.column === "source").map((node) => node.name))];
  const what = ["webhook", "event"].map((value) => el("label", {}, el("input", { type: "radio", name: "what", value,
    checked: given.what === value, onchange: () => { given.what = value; choose(); } }), value === "event" ? " an event" : " a webhook"));
  const from = el("select", { id: "try-from", onchange: () => { given.from = from.value; } });
  const headers = el("textarea", { id: "try-headers", rows: "2", spellcheck: "false", placeholder: "x-name: value",
    oninput: () => { given.headers = headers.value; } }, given.headers);
  const text = el("textarea", { id: "try-text", rows: "12", spellcheck: "false", required: true, oninput: () => { given.text = text.value; } });
  const more = el("div", {}, el("label", { for: "try-headers" }, "Headers, one per line"), headers);
  const choose = () => {
    const all = given.what === "webhook" ? names : sources;
    from.replaceChildren(...all.map((name) => el("option", { value: name }, name)));
    if (all.includes(given.from)) from.value = given.from;
    more.hidden = given.what === "event";
    text.placeholder = given.what === "webhook" ? "The raw body of the request" : sample;
  };
  text.value = given.text;
  choose();
  const out = el("div", { "aria-live": "polite" });
  main.append(el("h2", {}, "Dry run"), el("p", {}, "Follows what you paste through the running configuration. Nothing is sent or stored."),
    el("form", { class: "try", onsubmit: (event) => {
      event.preventDefault();
      into(out, async () => report(await post("/explain", request(from.value, text.value, headers.value))));
    } }, el("fieldset", {}, el("legend", {}, "What comes in"), what), el("label", { for: "try-from" }, "From"), from, more,
    el("label", { for: "try-text" }, "Content"), text, el("button", {}, "Show what it would send")), out);
}

function request(from, text, headers) {
  if (given.what === "webhook") {
    const lines = headers.split("\n").filter((line) => line.includes(":")).map((line) =>
      [line.slice(0, line.indexOf(":")).trim().toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]);
    return { webhook: { instance: from, headers: Object.fromEntries(lines), body: text } };
  }
  try {
    return { source: from, event: JSON.parse(text) };
  } catch (fault) {
    throw new Error(`This is not JSON: ${fault.message}`);
  }
}

function report(result) {
  const hook = result.webhook;
  return [
    hook ? el("p", {}, "The webhook is answered ", badge(String(hook.status), hook.status < 300 ? "good" : "bad"), " ", said(hook.fault ?? "")) : null,
    (hook?.rejects ?? []).map((one) => note(`An item is rejected: ${one.reason} ${one.detail}`, "bad")),
    (hook?.changes ?? []).map((one) => note(`The device registry is changed: ${one.kind} ${one.user}`)),
    result.events.map(happened),
    result.notes.map((text) => note(text, "fair")),
    result.sends ? null : note("Nothing would be sent.", "fair"),
    result.events.some((event) => event.routes.some((route) => route.pushes.length))
      ? note("The pictures are an approximation: apps, settings and versions of the systems differ.") : null,
  ].flat(Infinity).filter(Boolean);
}

const happened = (event) => el("article", { class: "card" },
  el("h3", {}, said(event.type), " ", said(event.subject)),
  el("p", { class: "quiet" }, "from ", said(event.source), `, ${event.recipients} recipients`,
    event.dedupe && event.dedupe_ms ? `; the same event within ${event.dedupe_ms / 1000} s is a duplicate` : ""),
  event.routes.length ? event.routes.map(way) : note("No route takes events of this source.", "fair"));

function way(route) {
  return el("section", { class: "route" },
    el("h4", {}, badge(route.matched ? "matches" : "no match", route.matched ? "good" : ""), " ", said(route.name)),
    route.matched ? null : el("ul", {}, route.why_not.map((text) => el("li", {}, said(text)))),
    route.fault ? note(`Failed: ${route.fault}`, "bad") : null,
    route.skipped.map((one) => note(`Left out: ${one.user || "a device"} (${one.platform}): ${one.reason}`)),
    route.pushes.map(push));
}

function push(one) {
  return el("div", { class: "push" }, phone(one), el("div", { class: "payload" },
    el("p", {}, "by ", said(one.sender), " to ", said(one.platform), one.user ? [" of ", said(one.user)] : null,
      one.invented ? " (invented: the user has no device here)" : ""),
    one.fault ? note(`Not sent: ${one.fault}`, "bad") : null,
    one.own_transport ? note("This sender has a transport of its own, so there is no request to show.") : null,
    one.requests.map(sent)));
}

function sent(request) {
  const { bytes, bytes_max: most } = request;
  const isFull = most != null && bytes > most * 0.9;
  return [
    el("p", { class: "size" }, `${bytes.toLocaleString("en")} bytes`, most == null ? "" : ` of ${most.toLocaleString("en")} `,
      most == null ? null : el("meter", { min: 0, max: most, value: bytes, high: most * 0.9, "aria-label": "size against the limit" }),
      isFull ? badge("nearly full", "fair") : null,
      request.shortened.length ? badge(`shortened: ${request.shortened.join(", ")}`, "fair") : null),
    el("details", {}, el("summary", {}, request.method, " ", said(request.url)),
      el("pre", { tabindex: "0" }, Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\n`).join(""), "\n",
        typeof request.body === "string" ? request.body : JSON.stringify(request.body, null, 2))),
  ];
}
