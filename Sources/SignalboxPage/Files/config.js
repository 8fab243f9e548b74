// gateway.yaml as it is on disk, without secrets, with what a check finds beside the lines.

import { get } from "./api.js";
import { badge, el, into, note, said } from "./dom.js";

export function open(main, live) {
  const out = el("div", {});
  main.append(el("h2", {}, "Configuration"), out);
  into(out, () => show(live));
}

async function show(live) {
  const { file, configuration, findings, lines } = await get("/config");
  const byLine = Map.groupBy(findings, (one) => one.line);
  const count = (severity) => findings.filter((one) => one.severity === severity).length;
  const isCurrent = configuration === live.hello?.configuration;
  return [
    el("p", {}, said(file), " ", badge(counted(count("fault"), "fault"), count("fault") ? "bad" : "good"), " ",
      badge(counted(count("warning"), "warning"), count("warning") ? "fair" : "good")),
    live.hello && !isCurrent ? note("The file has changed since it was last applied: signalbox reload applies it.", "fair") : null,
    note("Secrets are masked; ${env:…} and ${file:…} are shown as they are written."),
    lines.length ? null : note("The file cannot be read as YAML, so it is not shown: nobody knows where its secrets are.", "bad"),
    lines.length ? null : findings.map(finding),
    el("ol", { class: "lines", tabindex: "0", "aria-label": "Lines of the file" }, lines.map((text, index) =>
      el("li", { class: byLine.has(index + 1) ? "marked" : null }, el("code", { dir: "auto" }, text || " "),
        (byLine.get(index + 1) ?? []).map(finding)))),
  ].flat(Infinity).filter(Boolean);
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const finding = (one) => el("p", { class: `finding ${one.severity === "fault" ? "bad" : "fair"}` },
  badge(one.code, one.severity === "fault" ? "bad" : "fair"), " ", said(one.message), el("span", { class: "quiet" }, ` column ${one.column}`));
