"""A server of HTTP/2 that writes its frames by hand, so that it can write wrong ones. Without a fault it answers as FCM does.

It reads as much as counting takes: a request's stream, and the token in its body. The header block is not decoded.
"""
import collections, socket, ssl, struct, threading, time
from apart import TOKEN

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 2, 7, 8, 11
END_STREAM = ACK = 1
END_HEADERS = 4
MAX_STREAMS, INITIAL_WINDOW = 3, 4
BODY = b'{"name":"projects/signalbox-sim/messages/1"}'


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def number(value, bits, first=0):
    """An integer of HPACK in the low bits of a byte, and in more bytes if it does not fit."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + [value])


def field(name, value):
    """A header field that no table keeps."""
    return b"\0" + number(len(name), 7) + name + number(len(value), 7) + value


def status(code):
    return b"\x88" if code == 200 else field(b":status", str(code).encode())


def head(code=200):
    return status(code) + field(b"content-type", b"application/json; charset=UTF-8")


def settings(**values):
    numbers = {"streams": MAX_STREAMS, "window": INITIAL_WINDOW}
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", numbers[name], value) for name, value in values.items()))


def reset(stream, code):
    return frame(RST_STREAM, stream=stream, payload=struct.pack(">I", code))


def goaway(last, code=NO_ERROR, debug=b""):
    return frame(GOAWAY, payload=struct.pack(">II", last, code) + debug)


def window(stream, more):
    return frame(WINDOW_UPDATE, stream=stream, payload=struct.pack(">I", more))


def answer(stream, code=200, body=BODY):
    return frame(HEADERS, END_HEADERS, stream, head(code)) + frame(DATA, END_STREAM, stream, body)


class Behaviour:
    """What a connection does; this one does nothing wrong. An object for each connection."""
    hello = settings(streams=100)

    def __init__(self, line):
        self.line, self.count = line, 0

    def begins(self, stream):
        """The header block of a request is here."""

    def ends(self, stream, token):
        """All of a request is here."""
        self.line.take(stream, token)

    def data(self, stream, size):
        """Some of a request's body is here."""
        self.line.send(window(0, size))


class Line(threading.Thread):
    """One connection."""

    def __init__(self, server, client, number):
        super().__init__(daemon=True)
        self.server, self.client, self.number = server, client, number
        # Whether nothing more is sent, not even answers to PING.
        self.is_silent = False

    def send(self, data):
        if not self.is_silent:
            self.client.sendall(data)

    def take(self, stream, token, data=None):
        """Sends all of an answer; from then on the push is FCM's."""
        self.send(data or answer(stream))
        self.keep(token)

    def keep(self, token):
        self.server.tokens[token].append(int(time.time() * 1000))

    def end(self):
        try:
            self.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def run(self):
        try:
            self.client.settimeout(20)
            self.client = self.server.context.wrap_socket(self.client, server_side=True)
            self.client.settimeout(None)
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.read(self.client.makefile("rb"))
        except (OSError, ValueError, struct.error):
            pass
        self.client.close()
        self.server.lines.discard(self)

    def read(self, source):
        kind = self.server.at.get(self.client.getsockname()[0], self.server.kind)
        behaviour = kind(self)
        source.read(24)
        self.send(behaviour.hello)
        bodies = {}
        while len(start := source.read(9)) == 9:
            size, kind, flags, stream = int.from_bytes(start[:3], "big"), start[3], start[4], int.from_bytes(start[5:], "big")
            payload = source.read(size)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, payload=payload))
            elif kind == HEADERS:
                bodies[stream] = b""
                behaviour.begins(stream)
            elif kind == DATA:
                bodies[stream] = bodies.get(stream, b"") + payload
                if size:
                    behaviour.data(stream, size)
                if flags & END_STREAM:
                    found = TOKEN.search(bodies.pop(stream))
                    behaviour.ends(stream, found[1].decode() if found else "")
            elif kind == RST_STREAM:
                bodies.pop(stream, None)


class FrameServer:
    """Listens at one or several addresses on one port; new connections have the behaviour that was set last."""

    def __init__(self, certificate, kinds, hosts=("127.0.0.1",), port=0):
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(certificate.chain, certificate.key)
        self.context.set_alpn_protocols(["h2"])
        self.kinds, self.kind, self.at = kinds, Behaviour, {}
        self.port, self.lines, self.listeners, self.opened = port, set(), {}, 0
        self.tokens = collections.defaultdict(list)
        for host in hosts:
            self.open(host)

    def open(self, host):
        listener = self.listeners[host] = socket.create_server((host, self.port), backlog=256)
        self.port = listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def close(self, host):
        """Ends the connections to this address, too."""
        listener = self.listeners.pop(host)
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        self.cut(host)

    def accept(self, listener):
        try:
            while True:
                client, _ = listener.accept()
                self.opened += 1
                line = Line(self, client, self.opened)
                self.lines.add(line)
                line.start()
        except OSError:
            pass  # closed

    def cut(self, host=None):
        for line in list(self.lines):
            try:
                if host in (None, line.client.getsockname()[0]):
                    line.end()
            except OSError:
                pass

    def behave(self, name):
        self.kind = self.kinds.get(name, Behaviour)

    def behave_at(self, host, name):
        self.at[host] = self.kinds.get(name, Behaviour)

    def taken(self):
        return dict(self.tokens)
