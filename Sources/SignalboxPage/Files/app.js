// Which part of the page is shown, and the figures that every part may use.

import { events, use, whenRefused } from "./api.js";
import { badge } from "./dom.js";
import * as config from "./config.js";
import * as dead from "./dead.js";
import * as devices from "./devices.js";
import * as overview from "./overview.js";
import * as trace from "./trace.js";
import * as trial from "./try.js";

const parts = { overview, trace, dead, try: trial, devices, config };
const at = (id) => document.getElementById(id);
const kinds = { ready: "good", degraded: "fair", stopping: "fair" };

// What /live has told.
const live = { hello: null, sample: null, points: [] };
let shown = overview;
let connection = null;

function open() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  shown = parts[name] ?? overview;
  const current = parts[name] ? name : "overview";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `Signalbox: ${document.querySelector("nav a[aria-current]").textContent}`;
  at("main").replaceChildren();
  shown.open(at("main"), live, new URLSearchParams(query));
}

function status(state, kind) {
  at("state").replaceWith(Object.assign(badge(state, kind), { id: "state" }));
}

function take(name, data) {
  if (name === "hello") {
    const isFirst = !live.hello;
    live.hello = data;
    at("gateway").textContent = data.gateway;
    at("about").textContent = `Signalbox ${data.version}, configuration ${data.configuration}`;
    at("rights").textContent = data.changes ? "" : "Read-only: set gateway.admin_token to change something from here.";
    if (isFirst && shown !== overview) return open();
  } else if (name === "history") {
    live.points = data;
  } else if (name === "point") {
    live.points = [...live.points, data].slice(-360);
  } else if (name === "sample") {
    live.sample = data;
    at("main").classList.remove("stale");
    const { status: state, waiting } = data.readiness;
    status(state, kinds[state] ?? "bad");
    at("waiting").textContent = `${waiting.toLocaleString("en")} waiting`;
  }
  shown.update?.(name, live);
}

// Connected while the page is visible, and again after each loss.
async function follow() {
  let pause = 500;
  connection = new AbortController();
  const { signal } = connection;
  while (!signal.aborted && at("login").hidden) {
    let fault = "the gateway does not answer";
    try {
      await events("/live", signal, (name, data) => {
        pause = 500;
        take(name, data);
      });
    } catch (error) {
      if (error.name !== "TypeError") fault = error.message;
    }
    if (signal.aborted || !at("login").hidden) return;
    status("not connected", "bad");
    // What is shown is of the past.
    at("main").classList.add("stale");
    at("waiting").textContent = fault;
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 10_000);
  }
}

function login(wasWrong) {
  connection?.abort();
  at("login").hidden = false;
  at("main").hidden = true;
  at("login-fault").textContent = wasWrong ? "The gateway does not accept this token." : "";
  status("locked", "fair");
  at("waiting").textContent = "";
  at("token").focus();
}

whenRefused(login);
at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  use(at("token").value.trim());
  at("token").value = "";
  at("login").hidden = true;
  at("main").hidden = false;
  open();
  follow();
});
// Without a navigation, which the router would take for a part.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("main").focus();
});
addEventListener("hashchange", () => {
  open();
  at("main").focus({ preventScroll: true });
});
document.addEventListener("visibilitychange", () => {
  if (!at("login").hidden) return;
  connection?.abort();
  if (!document.hidden) follow();
});

open();
follow();
