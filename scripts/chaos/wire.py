#!/usr/bin/env python3
"""Faults of the wire between a gateway and a provider, one after the other, beside a provider that is well.

  scripts/chaos/run.sh wire [--only FAULT,...] [--seconds N]

Each webhook is a push for APNs, which is well, and one for FCM, which has the fault for N seconds. Afterwards everything that
was answered 2xx must have arrived at both. Prints a table: what was accepted, sent, doubled and missing at FCM, how long after
the fault's end the last one was there, what the fault did to the 99th percentile of APNs, and what /readyz said meanwhile.
Exits 1 if a push is missing.
"""
import argparse, atexit, http.client, json, re, socket, subprocess, sys, tempfile, threading, time
from database import free_port
from gateway import SIGNALBOX, Gateway
from ledger import Simulators


class Wire:
    """A TCP proxy in front of FCM. `fault` is called with each end's data; None: pass everything."""

    def __init__(self, target):
        self.target, self.mode, self.ends = target, "pass", set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def set(self, mode, target=None):
        """Changes what new connections meet, and ends the open ones, so that there are new ones."""
        self.mode = mode
        self.forward = target
        for end in list(self.ends):
            self.close(end)

    def close(self, end):
        self.ends.discard(end)
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            mode = self.mode
            self.ends.add(client)
            if mode == "silent":
                continue
            if mode == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.ends.discard(client)
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.forward or self.target), timeout=5)
            except OSError:
                self.close(client)
                continue
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ends.add(server)
            threading.Thread(target=self.copy, args=(client, server, "pass"), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, mode), daemon=True).start()

    def copy(self, source, sink, mode):
        passed = 0
        try:
            while data := source.recv(1 << 16):
                if mode == "bytes":  # one at a time
                    for at in range(len(data)):
                        sink.sendall(data[at:at + 1])
                    continue
                if mode.startswith(("cut", "stall")):
                    # After the handshake and the first answers: somewhere within a frame.
                    left = int(mode.split("-")[1]) - passed
                    sink.sendall(data[:max(0, left)])
                    passed += len(data)
                    if passed >= int(mode.split("-")[1]):
                        if mode.startswith("stall"):
                            return
                        break
                    continue
                sink.sendall(data)
        except OSError:
            pass
        self.close(source)
        self.close(sink)


def tls_server(folder, subject, days, alpn):
    """A server whose certificate or protocol is not what a gateway asks for."""
    key, cert = f"{folder}/{subject}-{days}.key", f"{folder}/{subject}-{days}.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", f"/CN={subject}",
            "-addext", f"subjectAltName=DNS:{subject}"]
    made += ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"] if days < 0 else ["-days", str(days)]
    if subprocess.run(made, capture_output=True).returncode:
        # An older openssl cannot make one that has expired; one of another name is refused, too.
        subprocess.run([x for x in made if not x.startswith(("-not", "2020"))], check=True, capture_output=True)
    port = free_port()
    command = ["openssl", "s_server", "-quiet", "-accept", str(port), "-cert", cert, "-key", key, "-www"]
    process = subprocess.Popen(command + (["-alpn", alpn] if alpn else []), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    return port


def says(gateway):
    """What /readyz says of the sender that has the fault."""
    status, body = gateway.ready()
    for one in body.get("senders", []):
        if one.get("sender") == "fcm":
            return f"{status}, {one.get('reason') or one.get('state') or 'ready'}"
    return str(status)


class Load:
    """100 webhooks a second; when each was sent, by its number."""

    def __init__(self, port):
        self.port, self.number, self.sent, self.refused = port, 0, {}, 0

    def run(self, seconds):
        line, until = None, time.monotonic() + seconds
        first = self.number
        while time.monotonic() < until:
            self.number += 1
            n = self.number
            body = json.dumps({
                "devices": [{"identifier": f"{n:032x}", "type": "ios"}, {"identifier": f"a{n:031x}", "type": "android"}],
                "notification": {"title": "Ada replied", "ticket_id": str(n), "body": "Your parcel is on its way."}})
            now = time.time()
            try:
                line = line or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                line.request("POST", "/in/zendesk/s", body, {"content-type": "application/json"})
                answer = line.getresponse()
                answer.read()
                if answer.status == 200:
                    self.sent[n] = now
                else:
                    self.refused += 1
            except (OSError, http.client.HTTPException):
                self.refused, line = self.refused + 1, None
            time.sleep(max(0, 0.01 - (time.time() - now)))
        return [n for n in range(first + 1, self.number + 1) if n in self.sent]


def percentile(simulators, load, numbers):
    times = simulators.times("apns")
    took = sorted(times[f"{n:032x}"][0] - load.sent[n] * 1000 for n in numbers if times[f"{n:032x}"])
    return took[int(len(took) * 0.99)] if took else float("nan")


def faults(wire, simulators, folder):
    """Name: how it begins, and how it ends."""
    def order(**order):
        return lambda: simulators.call("POST", "/fcm/orders", order)

    def again():
        simulators.call("POST", "/fcm/orders", {"order": "clear"})
        simulators.call("POST", "/fcm/orders", {"order": "streams", "max": 100})

    def set(mode, target=None):
        return lambda: wire.set(mode, target)

    well = set("pass")
    wrong = tls_server(folder, "elsewhere.example", 10, "h2")
    expired = tls_server(folder, "localhost", -1, "h2")
    old = tls_server(folder, "localhost", 10, None)
    return {
        "GOAWAY, the request unanswered": (order(order="goaway", after=3, answer=False), again),
        "GOAWAY with a reason, answered": (order(order="goaway", after=3, reason="Shutdown", answer=True), again),
        "100 streams refused": (order(order="refuse", count=100), again),
        "100 streams reset halfway": (order(order="reset", count=100), again),
        "20 requests never answered": (order(order="stall", count=20), again),
        "10 connections cut at a request": (order(order="cut", count=10), again),
        "answers after 2 s": (order(order="delay", ms=2000), again),
        "SETTINGS: 0 streams": (order(order="streams", max=0), again),
        "SETTINGS: 1 stream": (order(order="streams", max=1), again),
        "all answered 500": (order(order="fail", status=500, reason="INTERNAL"), again),
        "all answered 429, retry-after 2": (order(order="fail", status=429, reason="QUOTA_EXCEEDED", retry_after=2), again),
        "access token expired": (order(order="expire_credentials"), again),
        "no listener": (order(order="close_listener", cut=True), order(order="open_listener")),
        "accepts and says nothing": (set("silent"), well),
        "resets each connection": (set("reset"), well),
        "one byte at a time": (set("bytes"), well),
        "stalls within a frame": (set("stall-4000"), well),
        "cut within a frame": (set("cut-4000"), well),
        "stalls in the TLS handshake": (set("stall-200"), well),
        "certificate of another name": (set("pass", wrong), well),
        "certificate out of date": (set("pass", expired), well),
        "HTTP/1.1 alone": (set("pass", old), well),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--seconds", type=float, default=6, help="how long each fault lasts")
    options = options.parse_args()
    folder = tempfile.mkdtemp(prefix="signalbox-wire-")
    simulators = Simulators(SIGNALBOX, f"{folder}/secrets")
    variables = dict(simulators.variables)
    target = int(re.search(r":(\d+)$", variables["FCM_ENDPOINT"])[1])
    wire = Wire(target)
    wire.forward = None
    variables["FCM_ENDPOINT"] = f"https://127.0.0.1:{wire.port}"
    gateway = Gateway(folder, variables)
    load = Load(gateway.port)
    load.run(3)  # warm
    print("| fault | accepted | sent | doubled | missing | last after | APNs' p99 before, during | /readyz said |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    status = 0
    for name, (begin, end) in faults(wire, simulators, folder).items():
        if options.only and not any(part.strip() in name for part in options.only.split(",")):
            continue
        for provider in ("apns", "fcm"):
            simulators.call("DELETE", f"/{provider}/received")
        before = load.run(3)
        begin()
        said = []
        watch = threading.Thread(target=lambda: (time.sleep(options.seconds * 0.8), said.append(says(gateway))))
        watch.start()
        during = load.run(options.seconds)
        watch.join()
        end()
        ended, all = time.time(), before + during
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            there = simulators.times("fcm")
            missing = [n for n in all if not there[f"a{n:031x}"]]
            if not missing and len(simulators.times("apns")) >= len(all):
                break
            time.sleep(0.25)
        doubled = sum(len(there[f"a{n:031x}"]) - 1 for n in all if there[f"a{n:031x}"])
        last = max((max(there[f"a{n:031x}"]) for n in all if there[f"a{n:031x}"]), default=0) / 1000 - ended
        lost = [n for n in all if not simulators.times("apns")[f"{n:032x}"]]
        p99 = [percentile(simulators, load, part) for part in (before, during)]
        print(f"| {name} | {len(all)} | {len(all) - len(missing)} | {doubled} | {len(missing) + len(lost)} | {max(0, last):.1f} s "
              f"| {p99[0]:.0f} ms, {p99[1]:.0f} ms | {said[0]} |", flush=True)
        status |= bool(missing or lost)
    if load.refused:
        print(f"{load.refused} webhooks were refused", file=sys.stderr)
    return status


sys.exit(main())
