// The way of events with live figures, the plots of the last hour, and all senders and routes.

import { post } from "./api.js";
import { badge, el, latency, note, rate, said, table, time } from "./dom.js";
import { draw, refresh } from "./graph.js";
import { plots } from "./plots.js";

const kinds = { connected: "good", idle: "", paused: "fair", throttled: "fair" };
const none = { delivered: 0, retried: 0, failed: 0 };
let place = null;
let asked = "";

export function open(main, live) {
  place = {
    graph: el("div", { class: "wide graph", tabindex: "0", role: "region", "aria-label": "Routes from source to sender" }),
    plots: el("div", { class: "plots" }),
    senders: el("section", {}), routes: el("section", {}),
    fault: el("p", { class: "note bad", role: "alert", hidden: true }),
  };
  main.append(el("h2", {}, "Way of events"), place.graph, el("h2", {}, "Last hour"), place.plots, place.fault,
    place.senders, place.routes);
  if (!live.hello) place.graph.append(note("Waiting for the gateway …"));
  else for (const name of ["hello", "history", "sample"]) update(name, live);
}

export function update(name, live) {
  if (!place?.graph.isConnected || !live.hello) return;
  if (name === "hello") draw(place.graph, live.hello.graph);
  if (name === "hello" || name === "sample") refresh(place.graph, live.hello.graph, live.sample);
  if (name === "history" || name === "point") place.plots.replaceChildren(...plots(live.points));
  if (name === "sample") tables(live);
}

function tables(live) {
  // Not under somebody's hands.
  if (place.senders.contains(document.activeElement) || place.routes.contains(document.activeElement)) return;
  const { readiness, senders, lanes, routes } = live.sample;
  const heads = ["sender", "app", "state", "connections", "in memory", "delivered/s", "retried/s", "failed/s",
    "sender's p50", "sender's p99"];
  const changes = live.hello.changes;
  const paused = new Set(readiness.paused.map((entry) => "route" in entry ? `route ${entry.route}` : `sender ${entry.sender}`));
  const action = (kind, name) => changes ? [button(kind, name, paused.has(`${kind} ${name}`))] : [];
  // A pause is one of a sender with all its apps; what plugins are told cannot be paused.
  const pausable = new Set(live.hello.graph.nodes.filter((node) => node.column === "sender").map((node) => node.name));
  const apps = new Map();
  for (const one of readiness.senders) apps.set(one.sender, (apps.get(one.sender) ?? 0) + 1);
  const hasMore = (one) => one.app || apps.get(one.sender) > 1 || readiness.senders_omitted;
  const pause = (one) => !changes ? [] : pausable.has(one.sender)
    ? [button("sender", one.sender, paused.has(`sender ${one.sender}`), hasMore(one) ? " all its apps" : "")] : [""];
  place.senders.replaceChildren(table(caption(readiness), changes ? [...heads, "change"] : heads, readiness.senders.map((one) => {
    const figures = { ...senders[one.sender], ...none, ...lanes[one.sender]?.[one.app] };
    const start = one.paused_since_unix_ms ?? one.held_since_unix_ms;
    const since = start ? ` since ${time(start)}` : "";
    return [said(one.sender), said(one.app),
      [badge(one.state, kinds[one.state] ?? "bad"), one.reason ? [" ", said([one.reason, one.detail].filter(Boolean).join(", ")), since] : null],
      String(one.connections ?? 0), String(one.in_memory ?? 0), rate(figures.delivered), rate(figures.retried),
      rate(figures.failed), latency(figures.p50), latency(figures.p99), ...pause(one)];
  })));
  const names = live.hello.graph.nodes.filter((node) => node.column === "route").map((node) => node.name);
  place.routes.replaceChildren(table("Routes", ["route", "state", "delivered/s", "retried/s", "failed/s", ...(changes ? ["change"] : [])],
    names.map((name) => {
      const figures = routes[name] ?? {};
      const pause = readiness.paused.find((entry) => entry.route === name);
      return [said(name), pause ? [badge("paused", "fair"), " ", said(by(pause)), ` since ${time(pause.since_unix_ms)}`] : "takes events", rate(figures.delivered),
        rate(figures.retried), rate(figures.failed), ...action("route", name)];
    })));
}

function caption(readiness) {
  const { senders, senders_troubled: troubled, senders_omitted: omitted } = readiness;
  return omitted ? `Senders: ${senders.length} of ${senders.length + omitted}, ${troubled} in trouble come first` : "Senders";
}

// Who has paused it, and why.
function by(pause) {
  return `by ${pause.by}${pause.address ? ` (${pause.address})` : ""}${pause.reason ? `: ${pause.reason}` : ""}`;
}

// Asks once more before it pauses; nothing is lost by a resume.
function button(kind, name, isPaused, what = "") {
  const key = `${kind} ${name}`;
  const words = isPaused ? `Resume${what}` : asked === key ? `Really pause${what}?` : `Pause${what}`;
  return el("button", { "aria-label": `${words}: ${key}`, class: asked === key ? "danger" : null, onclick: async (event) => {
    if (!isPaused && asked !== key) {
      asked = key;
      event.target.textContent = `Really pause${what}?`;
      event.target.classList.add("danger");
      return;
    }
    asked = "";
    event.target.disabled = true;
    try {
      await post(isPaused ? "/resume" : "/pause", { [kind]: name, by: "admin page" });
      place.fault.hidden = true;
    } catch (fault) {
      place.fault.textContent = fault.message;
      place.fault.hidden = false;
    }
    event.target.blur();
  }, onblur: () => { asked = ""; } }, words);
}
