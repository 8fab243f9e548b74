// The routes as a diagram of four columns: source, route, builder, sender.

import { latency, rate, short, svg } from "./dom.js";

const columns = ["source", "route", "builder", "sender"];
const size = { width: 200, height: 58, gapX: 76, gapY: 16, margin: 8, top: 34 };
const states = ["connected", "idle", "paused", "throttled"];

const x = (column) => size.margin + columns.indexOf(column) * (size.width + size.gapX);

// Draws the shape; figures come with each sample.
export function draw(place, graph) {
  const counts = {};
  const rows = graph.nodes.map((node) => (counts[node.column] = (counts[node.column] ?? 0) + 1) - 1);
  const most = Math.max(1, ...Object.values(counts));
  const step = size.height + size.gapY;
  const y = (index) => size.top + rows[index] * step + (most - counts[graph.nodes[index].column]) * step / 2;
  const width = 2 * size.margin + 4 * size.width + 3 * size.gapX;
  const height = size.top + most * step;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words(graph) });
  for (const column of columns) picture.append(svg("text", { class: "head", x: x(column), y: 18 }, column));
  graph.edges.forEach((edge, index) => {
    const [from, to] = [graph.nodes[edge.from], graph.nodes[edge.to]];
    const [x1, y1, x2, y2] = [x(from.column) + size.width, y(edge.from) + size.height / 2, x(to.column), y(edge.to) + size.height / 2];
    const middle = (x1 + x2) / 2;
    picture.append(svg("path", { d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, "data-edge": index }));
    if (edge.labels.length) {
      picture.append(svg("text", { class: "label", "text-anchor": "end", x: x2 - 5, y: y2 - 6 }, short(edge.labels.join(", "), 10)));
    }
  });
  graph.nodes.forEach((node, index) => {
    const [left, top] = [x(node.column), y(index)];
    picture.append(svg("g", { class: `node ${node.column}`, "data-node": index }, svg("title", {}, node.name),
      svg("rect", { x: left, y: top, width: size.width, height: size.height, rx: node.column === "route" ? size.height / 2 : 8 }),
      svg("text", { class: "name", x: left + 16, y: top + 24 }, short(node.name, 22)),
      svg("text", { class: "figures", x: left + 16, y: top + 44 }),
      node.column === "sender" ? svg("circle", { cx: left + size.width - 16, cy: top + 20, r: 6 }) : null));
  });
  place.replaceChildren(picture);
}

// The same for those who hear it.
function words(graph) {
  const ways = graph.edges.map((edge) => `${graph.nodes[edge.from].name} to ${graph.nodes[edge.to].name}`);
  return `Routes from source to sender: ${ways.join(", ")}`;
}

// The sender's worst lane says how it is.
function state(name, senders) {
  const all = senders.filter((one) => one.sender === name).map((one) => one.state);
  return all.find((one) => !states.includes(one)) ?? all.find((one) => one === "paused")
    ?? all.find((one) => one === "throttled") ?? all.find((one) => one === "connected") ?? all[0] ?? "idle";
}

export function refresh(place, graph, sample) {
  if (!sample) return;
  for (const group of place.querySelectorAll("[data-node]")) {
    const node = graph.nodes[group.dataset.node];
    const figures = { source: sample.sources, route: sample.routes, sender: sample.senders }[node?.column]?.[node.name];
    const text = group.querySelector(".figures");
    if (node?.column === "source") text.textContent = `${rate(figures?.events ?? 0)} events/s`;
    if (node?.column === "route") {
      const isPaused = sample.readiness.paused.some((entry) => entry.route === node.name);
      text.textContent = isPaused ? "paused" : `${rate(figures?.delivered ?? 0)} delivered/s`;
      group.classList.toggle("fair", isPaused);
    }
    if (node?.column === "sender") {
      const now = state(node.name, sample.readiness.senders);
      const isWell = now === "connected" || now === "idle";
      text.textContent = isWell ? `${rate(figures?.delivered ?? 0)}/s, p99 ${latency(figures?.p99)}` : now;
      group.classList.toggle("good", now === "connected");
      group.classList.toggle("fair", now === "paused" || now === "throttled");
      group.classList.toggle("bad", !states.includes(now));
      group.querySelector("title").textContent = `${node.name}: ${now}`;
    }
  }
  for (const path of place.querySelectorAll("[data-edge]")) {
    const { from, to } = graph.edges[path.dataset.edge];
    const flows = [from, to].every((end) => {
      const node = graph.nodes[end];
      const figures = { source: sample.sources, route: sample.routes, sender: sample.senders }[node.column];
      return !figures || (figures[node.name]?.events ?? figures[node.name]?.delivered ?? 0) > 0;
    });
    path.classList.toggle("flows", flows);
  }
}
