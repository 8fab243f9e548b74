// Four plots of the last hour, a point each ten seconds.

import { el, latency, rate, svg } from "./dom.js";

const size = { width: 520, height: 130, left: 46, bottom: 18, top: 8, right: 6 };
const hour = 3_600_000;
const ms = (seconds) => seconds * 1000;

const all = [
  { name: "Events per second", lines: [{ key: "events", name: "events" }], show: rate },
  { name: "Deliveries per second", show: rate, lines: [
    { key: "delivered", name: "delivered" }, { key: "retried", name: "retried" }, { key: "failed", name: "failed" }] },
  { name: "Latency of providers", show: (value) => latency(value / 1000), of: ms, lines: [
    { key: "p50", name: "p50" }, { key: "p99", name: "p99" }] },
  { name: "Waiting deliveries", lines: [{ key: "waiting", name: "waiting" }], show: (value) => Math.round(value).toLocaleString("en") },
];

export const plots = (points) => all.map((one) => plot(one, points));

// A round number that is not below.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

function plot(about, points) {
  const value = (point, key) => point[key] == null ? null : (about.of ?? Number)(point[key]);
  const now = points.at(-1)?.unix_ms ?? Date.now();
  const most = ceiling(Math.max(0, ...points.flatMap((point) => about.lines.map((line) => value(point, line.key) ?? 0))));
  const inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
  const x = (unixMs) => size.left + inner.width * Math.max(0, 1 - (now - unixMs) / hour);
  const y = (number) => size.top + inner.height * (1 - number / most);
  const picture = svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
    "aria-label": `${about.name}, at most ${about.show(most)}` });
  for (const share of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(most * share), y2: y(most * share) }));
  }
  const axis = (text, left, bottom, anchor) => svg("text", { class: "axis", x: left, y: bottom, "text-anchor": anchor }, text);
  picture.append(axis(about.show(most), size.left - 4, y(most) + 6, "end"), axis("0", size.left - 4, y(0) + 3, "end"),
    axis("1 h ago", size.left, size.height - 3, "start"), axis("now", size.width - size.right, size.height - 3, "end"));
  about.lines.forEach((line, index) => {
    let path = "";
    let isDown = false;
    for (const point of points) {
      const number = value(point, line.key);
      if (number == null) { isDown = false; continue; }
      const here = `${x(point.unix_ms).toFixed(1)} ${y(number).toFixed(1)}`;
      // A dot where a line has one point.
      path += isDown ? `L${here}` : `M${here}h.1`;
      isDown = true;
    }
    picture.append(svg("path", { class: `line line${index}`, d: path }));
  });
  const cursor = svg("line", { class: "cursor", y1: size.top, y2: y(0), x1: -9, x2: -9 });
  picture.append(cursor);
  const last = points.at(-1);
  const legend = el("figcaption", {});
  const tell = (point) => legend.replaceChildren(el("b", {}, about.name), ...about.lines.map((line, index) => {
    const number = point ? value(point, line.key) : null;
    return el("span", { class: `key key${index}` }, `${line.name} ${number == null ? "–" : about.show(number)}`);
  }), point && point !== last ? el("span", {}, new Date(point.unix_ms).toLocaleTimeString()) : "");
  tell(last);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * size.width;
    const near = points.reduce((best, point) =>
      !best || Math.abs(x(point.unix_ms) - at) < Math.abs(x(best.unix_ms) - at) ? point : best, null);
    if (!near) return;
    cursor.setAttribute("x1", x(near.unix_ms));
    cursor.setAttribute("x2", x(near.unix_ms));
    tell(near);
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("x1", -9);
    cursor.setAttribute("x2", -9);
    tell(last);
  });
  return el("figure", {}, legend, picture);
}
