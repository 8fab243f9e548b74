// Elements and texts. Whatever comes from outside becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

// el("p", {class: "note"}, "text", child, ...)
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Text from outside: its direction stays its own.
export const said = (text) => el("bdi", {}, String(text ?? ""));

export const badge = (text, kind) => el("span", { class: `badge ${kind ?? ""}` }, text);
export const note = (text, kind) => el("p", { class: `note ${kind ?? ""}` }, text);

export function table(caption, heads, rows) {
  const body = rows.map((cells) => el("tr", {}, cells.map((cell, index) =>
    el("td", { "data-head": heads[index] }, cell))));
  return el("div", { class: "wide" }, el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, body)));
}

// "2026-01-02 03:04:05", in the reader's time zone.
export function time(unixMs) {
  if (!unixMs) return "";
  const date = new Date(unixMs);
  const two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
    + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const rate = (value) => value == null ? "–"
  : value >= 100 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 10) / 10);

// Latency is known as the bucket of a histogram, so "at most".
export function latency(seconds) {
  if (seconds == null) return "–";
  const ms = seconds * 1000;
  return ms >= 1000 ? `≤ ${Math.round(seconds * 10) / 10} s` : `≤ ${Math.round(ms * 10) / 10} ms`;
}

const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

// At most so many letters, whatever they are composed of.
export function short(text, most) {
  const all = Array.from(letters.segment(String(text ?? "").slice(0, most * 40)), (part) => [...part.segment].slice(0, 8).join(""));
  return all.length <= most ? all.join("") : `${all.slice(0, most - 1).join("")}…`;
}

// Shows what a promise gives, or why it gives nothing.
export async function into(place, work) {
  place.setAttribute("aria-busy", "true");
  try {
    place.replaceChildren(...[await work()].flat(Infinity).filter(Boolean));
  } catch (fault) {
    place.replaceChildren(note(fault.message, "bad"));
  }
  place.removeAttribute("aria-busy");
}
