// Deliveries that failed for good: look, send again, discard.

import { get, post } from "./api.js";
import { badge, el, into, note, said, time } from "./dom.js";

const pageSize = 50;

export function open(main, live, query) {
  const fields = ["sender", "route", "reason"].map((name) =>
    [name, el("input", { id: `dead-${name}`, type: "search", value: query.get(name), spellcheck: "false", autocomplete: "off" })]);
  const out = el("div", {});
  const said = el("p", { class: "note", role: "status" });
  const filter = () => Object.fromEntries(fields.map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value));
  const list = () => into(out, () => page(filter(), 0, list, said, live));
  main.append(el("h2", {}, "Dead letters"), el("form", { class: "ask", onsubmit: (event) => {
    event.preventDefault();
    history.replaceState(null, "", `#/dead?${new URLSearchParams(filter())}`);
    said.textContent = "";
    list();
  } }, fields.map(([name, input]) => [el("label", { for: input.id }, name), input]), el("button", {}, "Filter")), said, out);
  list();
}

async function page(filter, from, again, status, live) {
  const query = new URLSearchParams({ ...filter, limit: pageSize, ...(from ? { from } : {}) });
  const { count, next, dead } = await get(`/dead?${query}`);
  if (!dead.length) return note(Object.keys(filter).length ? "No dead letter matches." : "There are no dead letters.");
  const changes = live.hello?.changes;
  const boxes = new Map();
  const run = async (verb, body, words) => {
    try {
      const { count: done } = await post(`/dead/${verb}`, { ...body, by: "admin page" });
      status.textContent = `${done} ${words}.`;
      await again();
    } catch (fault) {
      status.textContent = fault.message;
    }
  };
  const chosen = () => [...boxes].filter(([, box]) => box.checked).map(([id]) => id);
  const chose = (verb, words) => () => {
    const ids = chosen();
    if (!ids.length) status.textContent = "Choose some first.";
    else run(verb, { ids }, words);
  };
  const rows = dead.map((letter) => {
    const box = el("input", { type: "checkbox", "aria-label": `choose ${letter.id}` });
    boxes.set(letter.id, box);
    const detail = el("div", { class: "detail" });
    const fold = el("details", { ontoggle: () => { if (fold.open && !detail.firstChild) detail.append(...details(letter)); } },
      el("summary", {}, badge(letter.reason, "bad"), " ", said(letter.sender), " ", el("span", { class: "quiet" },
        time(letter.unix_ms), " ", said(letter.user || letter.token), " ", said(letter.type)), " ", said(letter.title)), detail);
    return el("li", {}, changes ? box : null, fold);
  });
  const more = el("div", {});
  return [el("p", { class: "quiet" }, `${count.toLocaleString("en")} in all`),
    changes ? el("p", { class: "actions" },
      el("button", { onclick: () => { for (const box of boxes.values()) box.checked = true; } }, "Choose all shown"),
      el("button", { onclick: chose("replay", "sent again") }, "Send chosen again"),
      discard(() => chosen().length, chose("purge", "discarded"))) : null,
    el("ul", { class: "letters" }, rows), more,
    next ? el("button", { onclick: (event) => { event.target.remove(); into(more, () => page(filter, next, again, status, live)); } }, "Show more") : null];
}

// Asks once more: what is discarded is gone.
function discard(count, run) {
  const words = "Discard chosen";
  const button = el("button", { class: "danger", onclick: () => {
    if (count() && button.textContent === words) button.textContent = `Really discard ${count()}?`;
    else run();
  }, onblur: () => { button.textContent = words; } }, words);
  return button;
}

function details(letter) {
  const facts = ["title", "body", "route", "app", "platform", "token", "user", "source", "subject", "event_id", "stable_id", "id"];
  return [el("dl", {}, facts.filter((key) => letter[key] !== "" && letter[key] != null)
    .map((key) => [el("dt", {}, key.replace("_", " ")), el("dd", {}, said(letter[key]))])),
  el("ol", { class: "steps" }, letter.attempts.map((one) => el("li", {}, el("time", {}, time(one.unix_ms)), ` attempt ${one.number}: `,
    said(one.reason), one.code ? ` code ${one.code} ` : " ", said(one.detail)))),
  letter.event_id ? el("p", {}, el("a", { href: `#/trace?event=${letter.event_id}` }, "Trace of its event")) : null].filter(Boolean);
}
