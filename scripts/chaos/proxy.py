"""A TCP proxy that can cut its connections and refuse new ones, or stall: take bytes and pass none on."""
import socket, threading


class Proxy:
    """From a port of its own to one server; `set` takes pass, cut or stall."""

    def __init__(self, target):
        self.target, self.is_cut = target, False
        self.lock, self.ends = threading.Lock(), set()
        self.passes = threading.Event()
        self.passes.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def set(self, mode):
        self.is_cut = mode == "cut"
        if mode == "stall":
            self.passes.clear()
            return
        if self.is_cut:
            with self.lock:
                for end in self.ends:
                    shut(end)
        self.passes.set()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.is_cut:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=2)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self.lock:
                self.ends |= {client, server}
            for one, other in ((client, server), (server, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    def copy(self, one, other):
        try:
            while data := one.recv(1 << 16):
                self.passes.wait()
                other.sendall(data)
        except OSError:
            pass
        # The other direction ends by itself, and closes its own socket.
        shut(other)
        with self.lock:
            self.ends.discard(one)
        shut(one)
        one.close()


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
