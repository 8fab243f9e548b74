#!/usr/bin/env python3
"""Faults of the wire between a gateway and a provider, one after the other, beside a provider that is well.

  scripts/chaos/run.sh wire [--only FAULT,...] [--seconds N]

Each webhook is a push for APNs, which is well, and one for FCM, which has the fault for N seconds. FCM is our simulator, with a
proxy in front; then nginx, h2o and nghttpd (foreign.py); a server that writes each frame by hand (frames.py); and hosts whose
names do not resolve as they should (names.py, which takes root). Afterwards everything that was answered 2xx must have arrived at
both, or be counted as refused. Prints a table: what was accepted, sent, refused, doubled and missing at FCM, how long after the
fault's end the last one was there, what the fault did to the 99th percentile of APNs and to the gateway's memory, what /readyz
said meanwhile, and how attempts ended or what the log said. Exits 1 if a push is missing.
"""
import argparse, atexit, re, socket, subprocess, sys, threading
import foreign, frames, names
from apart import Certificate
from database import free_port
from rounds import Fault, Rounds


class Wire:
    """A TCP proxy in front of FCM. `fault` is called with each end's data; None: pass everything."""

    def __init__(self, target):
        self.target, self.mode, self.forward, self.ends = target, "pass", None, set()
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


def groups():
    """Faults that have a gateway of their own: the group's name, and what makes its rounds and faults."""
    def simulated():
        rounds = Rounds()
        wire = behind(rounds)
        return rounds, [Fault(name, *both) for name, both in faults(wire, rounds.simulators, rounds.folder).items()]

    def others(module, fcm=""):
        def make():
            rounds = Rounds(fcm)
            wire = behind(rounds)
            certificate = Certificate(rounds.folder, rounds.variables["SIGNALBOX_CA_FILE"])
            rounds.variables["SIGNALBOX_CA_FILE"] = certificate.roots
            return rounds, module.faults(wire, rounds.folder, certificate)
        return make

    def behind(rounds):
        wire = Wire(int(re.search(r":(\d+)$", rounds.variables["FCM_ENDPOINT"])[1]))
        rounds.variables["FCM_ENDPOINT"] = f"https://127.0.0.1:{wire.port}"
        return wire

    # With 10 s and two connections, trying each offset of an answer would take minutes.
    impatient = others(frames, "request_timeout_ms: 1000\n      connections: 8")
    return {"simulators": simulated, "servers": others(foreign), "frames": impatient, "names": names.rounds}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="parts of names, with commas; or simulators, servers, frames, names")
    options.add_argument("--seconds", type=float, default=6, help="how long each fault lasts")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # of a network of its own
    options = options.parse_args()
    wanted = [part.strip() for part in options.only.split(",") if part.strip()]
    status = 0
    if not options.inside:
        Rounds.head()
    for group, make in groups().items():
        if (group == "names") != options.inside:
            continue
        rounds, found = make()
        chosen = [one for one in found if not wanted or group in wanted or any(part in one.name for part in wanted)]
        status |= rounds.all(chosen, options.seconds)
    if Rounds.sums[0]:
        print(f"APNs' p99: the sums during and before the faults differ by {100 * Rounds.sums[1] / Rounds.sums[0] - 100:.0f} %",
              file=sys.stderr)
    if not options.inside:
        status |= names.in_own_network()
    return status


sys.exit(main())
