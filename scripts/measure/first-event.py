#!/usr/bin/env python3
"""Seconds from `signalbox plugins new` to the first event, for each role.

  scripts/measure/first-event.py PREFIX [LANGUAGE ...]

PREFIX is where `make install` went. Each project is written, built with `make`, and run with its own gateway.yaml and
try.sh, as its README.md says, until something has gone through it: a push or a report at a simulated provider, or a line
in a file. Prints a table.
"""
import os, pathlib, re, signal, subprocess, sys, tempfile, time

prefix = pathlib.Path(sys.argv[1])
languages = sys.argv[2:] or ["c", "rust", "swift"]
program = prefix / "bin/signalbox"
roles = ["ingest", "build", "filter", "send-http", "send", "register", "source", "observe"]
files = {"send": "pushes.txt", "observe": "outcomes.txt"}
room = pathlib.Path(tempfile.mkdtemp(prefix="first-event-"))


def wait(log, pattern, gateway):
    deadline = time.monotonic() + 30
    while not (found := re.search(pattern, log.read_text())):
        if gateway.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{log}: no {pattern}\n{log.read_text()}")
        time.sleep(0.01)
    return found


def measure(language, role):
    name = "Mine" + role.replace("-", "").capitalize() + language.capitalize()
    began = time.monotonic()
    project = room / name
    subprocess.run([program, "plugins", "new", name, "--language", language, "--role", role, "--folder", project],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["make", "-C", project, f"BUILD={room}/build-{language}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    log = room / f"{name}.log"
    with open(log, "w") as out:
        gateway = subprocess.Popen([program, "demo", "--config", "gateway.yaml", "--no-webhook", "--listen", "127.0.0.1:0",
                                    "--admin", "127.0.0.1:0"], cwd=project, stdout=out, stderr=out)
    try:
        control = wait(log, r"control (http:\S+:\d+)", gateway)[1]
        address = wait(log, r"gateway +(http:\S+:\d+)", gateway)[1]
        subprocess.run(["sh", "try.sh", address, control], cwd=project, check=True, stdout=subprocess.DEVNULL)
        if role in files:
            while not (project / files[role]).exists() or not (project / files[role]).stat().st_size:
                time.sleep(0.01)
        else:
            wait(log, ("provider" if role in ("send-http", "register") else "FCM") + " +received, answered 200", gateway)
        return time.monotonic() - began
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.wait()


print("| role | " + " | ".join(languages) + " |\n| --- |" + " --- |" * len(languages))
for role in roles:
    print(f"| `{role}` | " + " | ".join(f"{measure(one, role):.1f}" for one in languages) + " |", flush=True)
