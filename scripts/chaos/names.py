"""The name of a provider's host: DNS that fails, is silent, or gives addresses at which nobody serves.

glibc asks the servers of /etc/resolv.conf at port 53 and nowhere else. So these faults run in a network and a mount namespace of
their own (`unshare`, which takes root), where a small DNS server has port 53 and /etc/resolv.conf names it.
"""
import functools, os, shutil, socket, struct, subprocess, sys, tempfile, threading
from apart import Apart, Certificate
from http2 import Behaviour, FrameServer
from rounds import Fault, Rounds

HOST = "fcm.example"
HERE, THERE, NOBODY, SILENT = "127.0.0.2", "127.0.0.3", "127.0.0.9", "127.0.0.8"
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


class DNS:
    """Answers each query for an A record as `set` says; it has no AAAA records. None: no answer at all."""

    def __init__(self):
        self.code, self.addresses, self.asked = NOERROR, [HERE], 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def set(self, code, *addresses):
        self.code, self.addresses = code, list(addresses)

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(512)
            self.asked += 1
            end = query.index(b"\0", 12) + 5
            is_a = struct.unpack(">H", query[end - 4:end - 2])[0] == 1
            if self.code is None:
                continue
            found = self.addresses if is_a and self.code == NOERROR else []
            out = query[:2] + struct.pack(">HHHHH", 0x8180 | self.code, 1, len(found), 0, 0) + query[12:end]
            for address in found:
                out += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
            self.socket.sendto(out, client)


class Hole:
    """An address that answers no SYN: its queue of connections is full, and nobody takes one."""

    def __init__(self, host, port):
        self.listener = socket.create_server((host, port), backlog=0)
        self.fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((host, port))
            self.fillers.append(filler)


class Speechless(Behaviour):
    """Takes a connection, and says nothing after TLS."""
    def __init__(self, line):
        super().__init__(line)
        line.is_silent = True


def rounds():
    """Inside the namespaces."""
    out = Rounds("request_timeout_ms: 1000")
    certificate = Certificate(out.folder, out.variables["SIGNALBOX_CA_FILE"], f"DNS:{HOST}")
    out.variables["SIGNALBOX_CA_FILE"] = certificate.roots
    server = Apart(functools.partial(FrameServer, certificate, {"speechless": Speechless}, (HERE, THERE)))
    port = server.port()
    out.variables["FCM_ENDPOINT"] = f"https://{HOST}:{port}"
    dns, hole = DNS(), Hole(SILENT, port)
    out.hole = hole  # open as long as the rounds

    def fault(name, code, *addresses, begin=lambda: None, end=lambda: None):
        def start():
            dns.set(code, *addresses)
            begin()
            server.cut()

        def stop():
            end()
            dns.set(NOERROR, HERE)

        return Fault(f"name: {name}", start, stop, server.taken)

    def again():
        server.open(HERE)

    return out, [
        fault("no fault, each connection cut once", NOERROR, HERE),
        fault("NXDOMAIN", NXDOMAIN),
        fault("SERVFAIL", SERVFAIL),
        fault("no address", NOERROR),
        fault("DNS gives no answer", None),
        fault("another address, the first is gone", NOERROR, THERE, begin=lambda: server.close(HERE), end=again),
        fault("the old address, which is gone", NOERROR, HERE, begin=lambda: server.close(HERE), end=again),
        fault("3 addresses, 2 refuse", NOERROR, NOBODY, "127.0.0.10", HERE),
        fault("3 addresses, 1 answers no SYN", NOERROR, SILENT, NOBODY, HERE),
        fault("only an address that answers no SYN", NOERROR, SILENT),
        fault("2 addresses, the first says nothing after TLS", NOERROR, HERE, THERE,
              begin=lambda: server.behave_at(HERE, "speechless"), end=lambda: server.behave_at(HERE, "")),
        fault("20 addresses, 1 serves", NOERROR, *(f"127.0.1.{at}" for at in range(1, 20)), HERE),
    ]


def in_own_network():
    """Runs this group in namespaces of its own; 1 if a push is missing."""
    if os.getuid() != 0:
        print("chaos-wire: names are left out, they take root", file=sys.stderr)
        return 0
    folder = tempfile.mkdtemp(prefix="signalbox-names-")
    files = {"resolv.conf": "nameserver 127.0.0.1\n", "nsswitch.conf": "hosts: files dns\n", "hosts": "127.0.0.1 localhost\n"}
    for name, text in files.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    binds = " && ".join(f"mount --bind {folder}/{name} $(readlink -f /etc/{name})" for name in files)
    command = f'{binds} && ip link set lo up && exec "$@"'
    inside = ["unshare", "--mount", "--net", "sh", "-c", command, "names"]
    status = subprocess.run(inside + [sys.executable, *sys.argv, "--inside"]).returncode
    shutil.rmtree(folder, ignore_errors=True)
    return status
