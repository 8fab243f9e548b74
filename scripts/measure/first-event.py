#!/usr/bin/env python3
"""Seconds from `signalbox plugins new` to the first event, for each role.

  scripts/measure/first-event.py PREFIX [LANGUAGE ...]

PREFIX is where `make install` went. Each project is written, built with `make`, and run in a gateway until something has
gone through it: a push at a simulator, a request at a server, or a line in a file. Prints a table.
"""
import http.server, json, os, pathlib, re, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

prefix = pathlib.Path(sys.argv[1])
languages = sys.argv[2:] or ["c", "rust", "swift"]
program = prefix / "bin/signalbox"
roles = ["ingest", "build", "filter", "send-http", "send", "register", "source", "observe"]
room = pathlib.Path(tempfile.mkdtemp(prefix="first-event-"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        Server.requests.append(self.path)
        self.send_response(200)
        self.end_headers()

    do_POST = do_PUT = do_DELETE

    def log_message(self, *_):
        pass


def simulators():
    folder = room / "simulators"
    run = subprocess.Popen([program, "simulate", "--folder", folder], stdout=subprocess.PIPE, text=True)
    facts = {}
    while "TELEGRAM_ENDPOINT" not in facts:
        line = run.stdout.readline()
        found = re.match(r"export (\w+)=(.*)", line) or re.match(r"# (control) API (\S+)", line)
        if found:
            facts[found[1]] = found[2]
    return run, folder, facts


def config(role, library, check, folder, facts, port, admin, endpoint, file):
    plugins = {
        "hook": "{ library: CloudEvents, config: { path: /in/hook, bearer: [a-token-of-sixteen],"
        " recipients: [{ each: /devices, token: /token, platform: /platform }] } }",
        "texts": "{ library: Texts }",
        "fcm": "{ library: FCM, config: { service_account: \"${file:%s/fcm.json}\", endpoint: \"%s\", ca: %s } }"
        % (folder, facts["FCM_ENDPOINT"], facts["SIGNALBOX_CA_FILE"]),
    }
    # As `make check` has it, with what is different here.
    settings = json.loads((check / "config.json").read_text()) if (check / "config.json").exists() else {}
    for line in (check / "secrets").read_text().split() if (check / "secrets").exists() else []:
        key, value = line.split("=", 1)
        settings[key] = value
    changes = {"send-http": {"endpoint": facts["FCM_ENDPOINT"], "origin": facts["FCM_ENDPOINT"]},
               "register": {"endpoint": endpoint, "origin": endpoint},
               "send": {"file": str(file), "socket": f"{file}.sock"}, "observe": {"file": str(file)}, "source": {"every_ms": 100}}
    settings |= {key: value for key, value in changes.get(role, {}).items() if key in settings}
    plugins["mine"] = "{ library: %s%s }" % (library, ", config: " + json.dumps(settings) if settings else "")
    route = f"from: {'mine' if role in ('ingest', 'source') else 'hook'}"
    route += ", build: { with: %s }" % ("mine" if role == "build" else "texts")
    route += ", filter: [mine]" if role == "filter" else ""
    route += ", send: { android: %s }" % ("mine" if role.startswith("send") else "fcm")
    text = f"version: 1\ngateway: {{ listen: 127.0.0.1:{port}, admin: 127.0.0.1:{admin}, data: {room}/data-{time.time_ns()} }}\n"
    text += "plugins:\n" + "".join(f"  {name}: {value}\n" for name, value in plugins.items())
    text += f"routes:\n  - {{ name: all, {route} }}\n"
    text += "devices:\n  clients: [ { name: b, token: token-of-the-backend, app: com.example.app, scopes: [read, write] } ]\n"
    if role == "register":
        text += "  report: { com.example.app: [mine] }\n"
    if role == "observe":
        text += "outcomes:\n  - { name: lines, plugin: mine }\n"
    return text


def listen(path, file):
    """A Unix socket whose lines go to a file."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        one, _ = listener.accept()
        with open(file, "wb") as out:
            while part := one.recv(4096):
                out.write(part)
                out.flush()


def call(method, url, body, **headers):
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, body.encode(), headers, method=method)
    return urllib.request.urlopen(request, timeout=5).read()


def measure(language, role, folder, facts, endpoint):
    name = "Mine" + role.replace("-", "").capitalize() + language.capitalize()
    began = time.monotonic()
    project = room / name
    subprocess.run([program, "plugins", "new", name, "--language", language, "--role", role, "--folder", project],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["make", "-C", project, f"BUILD={room}/build-{language}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    built = time.monotonic()
    port, admin, file = free_port(), free_port(), room / f"{name}.lines"
    if role == "send":
        threading.Thread(target=listen, args=(f"{file}.sock", file), daemon=True).start()
    yaml = room / f"{name}.yaml"
    yaml.write_text(config(role, project / f"lib{name}.so", project / "check", folder, facts, port, admin, endpoint, file))
    log = open(room / f"{name}.log", "w+")
    environment = {**os.environ, "SSL_CERT_FILE": facts["SIGNALBOX_CA_FILE"]}
    gateway = subprocess.Popen([program, "run", "--config", yaml], stdout=log, stderr=log, env=environment)
    Server.requests.clear()
    try:
        base = f"http://127.0.0.1:{port}"
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if gateway.poll() is not None:
                    raise SystemExit(pathlib.Path(log.name).read_text())
                time.sleep(0.02)
        if role in ("register", "ingest", "source"):
            call("POST", base + "/v1/devices", '{"user":"u-1","token":"t","platform":"android","app":"com.example.app"}',
                 authorization="Bearer token-of-the-backend")
        if role == "register":
            # It reports tokens that a provider calls dead.
            call("POST", facts["control"] + "/fcm/orders",
                 '{"order":"fail","tokens":["t"],"status":404,"reason":"UNREGISTERED","times":1}')
        if role == "ingest":
            one = json.loads((project / "check/samples.json").read_text())["requests"][0]
            call(one["method"], base + one["path"], json.dumps(one["body"]), **one.get("headers", {}))
        elif role != "source":
            # What the project's samples say that an event has.
            samples = project / "check/samples.json"
            events = json.loads(samples.read_text()).get("events") if samples.exists() else None
            data = {"title": "T", "body": "B", **(events[0]["data"] if events else {}),
                    "devices": [{"token": "t", "platform": "android"}]}
            data.pop("urgency", None)  # what is not urgent waits
            event = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid", "data": data}
            call("POST", base + "/in/hook", json.dumps(event), authorization="Bearer a-token-of-sixteen",
                 **{"content-type": "application/cloudevents+json"})
        while True:
            text = pathlib.Path(log.name).read_text()
            done = {"register": bool(Server.requests), "observe": file.exists() and file.stat().st_size > 0,
                    "send": file.exists() and file.stat().st_size > 0}.get(role)
            if done is None:
                # The simulator refuses what a template sends: it has been there and back all the same.
                done = re.search("delivery failed .*=mine" if role == "send-http" else " delivered", text)
            if done:
                return built - began, time.monotonic() - began
            if time.monotonic() > built + 30:
                raise SystemExit(f"{name}: nothing came through it in 30 s\n{text}")
            time.sleep(0.02)
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.wait()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    run, folder, facts = simulators()
    try:
        print("| role | " + " | ".join(languages) + " |\n| --- |" + " --- |" * len(languages))
        for role in roles:
            cells = []
            for language in languages:
                built, first = measure(language, role, folder, facts, f"http://127.0.0.1:{server.server_port}")
                cells.append(f"{first:.1f}")
            print(f"| {role} | " + " | ".join(cells) + " |", flush=True)
    finally:
        run.terminate()


main()
