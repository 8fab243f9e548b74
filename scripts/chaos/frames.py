"""What no server of good faith does: faults of single frames, written by hand (http2.py), in the place of FCM.

Where an answer is broken or withheld the push is not FCM's, and has to come again; so nothing may be called delivered by mistake.
"""
import functools, itertools, struct, time
from apart import Apart
from http2 import (ACK, BODY, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS,
                   INTERNAL_ERROR, NO_ERROR, PING, PUSH_PROMISE, REFUSED_STREAM, RST_STREAM, SETTINGS, WINDOW_UPDATE, Behaviour,
                   FrameServer, answer, field, frame, goaway, head, reset, settings, status, window)
from rounds import Fault

BIG = 1 << 31


def begun(stream):
    """An answer whose body is to come."""
    return frame(HEADERS, END_HEADERS, stream, head())


def each(make, accepted=False):
    """Each request gets the frames that `make` gives for its stream."""
    class Each(Behaviour):
        def ends(self, stream, token):
            if accepted:
                self.line.take(stream, token, make(stream))
            else:
                self.line.send(make(stream))
    return Each


def after(count, act):
    """A connection answers `count` requests; `act` has the rest of them."""
    class After(Behaviour):
        def ends(self, stream, token):
            self.count += 1
            if self.count <= count:
                self.line.take(stream, token)
            else:
                act(self, stream, token)
    return After


def flood(make, nth=10):
    """Every tenth answer comes after many frames."""
    class Flood(Behaviour):
        def ends(self, stream, token):
            self.count += 1
            self.line.take(stream, token, make(stream) if self.count % nth == 0 else None)
    return Flood


def pieces(is_cut):
    """Each connection stops within its fourth answer, each one byte later than the one before it."""
    class Pieces(Behaviour):
        hello, offsets, size = settings(streams=5), itertools.count(), len(answer(1))

        def ends(self, stream, token):
            self.count += 1
            if self.count <= 3:
                self.line.take(stream, token)
            elif self.count == 4:
                self.line.send(answer(stream)[:next(self.offsets) % self.size])
                self.line.is_silent = True
                if is_cut:
                    self.line.end()

    return Pieces


def block(stream, fields, flags=END_STREAM):
    """A header block in frames of 16 KiB."""
    parts = [fields[at:at + 16384] for at in range(0, len(fields), 16384)]
    out = frame(HEADERS, flags | (END_HEADERS if len(parts) == 1 else 0), stream, parts[0])
    for at, part in enumerate(parts[1:], 2):
        out += frame(CONTINUATION, END_HEADERS if at == len(parts) else 0, stream, part)
    return out


class NoWindow(Behaviour):
    hello = settings(streams=100, window=0)


class LateWindow(NoWindow):
    def begins(self, stream):
        if self.count == 0:
            time.sleep(0.5)
            self.line.send(settings(window=65535))
        self.count += 1


class ByteWindow(Behaviour):
    """Every tenth body comes byte by byte."""
    hello = settings(streams=100, window=1)

    def begins(self, stream):
        if stream // 2 % 10:
            self.line.send(window(stream, 65534))

    def data(self, stream, size):
        self.line.send(window(0, size) + window(stream, size))


class Early(Behaviour):
    def begins(self, stream):
        self.line.send(answer(stream) + reset(stream, NO_ERROR))

    def ends(self, stream, token):
        self.line.keep(token)


class EarlyRefusal(NoWindow):
    def begins(self, stream):
        self.line.send(answer(stream, 503, b"busy"))


class AtOnce(Behaviour):
    hello = settings(streams=100) + goaway(0)


def ten_open(self, stream, _):
    if self.count == 30:
        self.line.send(goaway(0))


def calm(self, stream, token):
    self.line.take(stream, token, answer(stream) + goaway(stream, ENHANCE_YOUR_CALM, b"too_many_pings"))
    self.line.end()


def twice(self, stream, token):
    more = b"" if self.count > 21 else goaway(BIG - 1) + goaway(stream) + goaway(stream + 20)
    self.line.take(stream, token, more + answer(stream))


def deaf(self, stream, token):
    time.sleep(30)


def pongs(self, stream, token):
    """Sends many PINGs and reads no answer to them."""
    self.line.send(frame(PING, payload=bytes(8)) * 20_000)
    time.sleep(2)


OF_WRONG_SIZE = [
    frame(PING, payload=bytes(7)), frame(SETTINGS, payload=bytes(5)), frame(SETTINGS, ACK, payload=bytes(6)),
    frame(RST_STREAM, stream=1, payload=bytes(3)), frame(WINDOW_UPDATE, payload=bytes(3)), window(0, 0),
    frame(GOAWAY, payload=bytes(7)), frame(HEADERS, END_HEADERS, 0, head()), frame(DATA, stream=0, payload=b"x"),
    frame(DATA, stream=99_999, payload=b"x"), frame(HEADERS, END_HEADERS, 2, head()), frame(CONTINUATION, 0, 1, b"x"),
    frame(0xee, payload=bytes(16_385)), frame(DATA, 8, 1, b"\xff"), settings(window=BIG), frame(HEADERS, END_HEADERS, 1, b"\x80"),
    b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(100), b"\xff" * 100,
]


def wrong_frame(self, stream, token):
    if self.count == 21:
        self.line.send(OF_WRONG_SIZE[self.line.number % len(OF_WRONG_SIZE)])


def answers_that_break_http(stream):
    def with_fields(fields, flags=END_STREAM):
        return frame(HEADERS, END_HEADERS | flags, stream, fields)

    long = field(b"content-length", b"1000")
    body = frame(DATA, END_STREAM, stream, BODY)
    return [
        with_fields(field(b"content-type", b"text/html")), with_fields(status(200) + status(200)),
        with_fields(field(b":status", b"abc")), with_fields(status(101)), with_fields(status(200) + field(b"Upper", b"x")),
        with_fields(status(200) + field(b"connection", b"x")),
        with_fields(status(200) + field(b"x", b"a\0b")), with_fields(status(200) + field(b":path", b"/")),
        with_fields(status(200) + long, 0) + body, body, with_fields(status(200), 0) + with_fields(status(200)) + body,
        with_fields(status(103)) + body,
    ]


class BrokenAnswers(Behaviour):
    """Each second answer."""
    def ends(self, stream, token):
        self.count += 1
        if self.count % 2:
            self.line.take(stream, token)
        else:
            kinds = answers_that_break_http(stream)
            self.line.send(kinds[self.count // 2 % len(kinds)])


def interim(code):
    return lambda stream: frame(HEADERS, END_HEADERS, stream, status(code) + field(b"link", b"</x>")) * 1000 + answer(stream)


def kinds():
    many = field(b"x-many", b"0123456789") * 10_000
    return {
        "RST before the answer": each(lambda s: reset(s, INTERNAL_ERROR)),
        "RST between headers and body": each(lambda s: begun(s) + reset(s, CANCEL)),
        "RST in the middle of the body": each(
            lambda s: begun(s) + frame(DATA, 0, s, BODY[:20]) + reset(s, INTERNAL_ERROR)),
        "RST after the answer": each(lambda s: answer(s) + reset(s, CANCEL), accepted=True),
        "cut after each byte of an answer": pieces(True),
        "stalls after each byte of an answer": pieces(False),
        "window of 0 that is never opened": NoWindow,
        "window of 0 that is opened late": LateWindow,
        "window of 1 byte": ByteWindow,
        "answers in DATA of 1 byte": each(
            lambda s: begun(s) + b"".join(frame(DATA, 0, s, BODY[at:at + 1]) for at in range(len(BODY)))
            + frame(DATA, END_STREAM, s), accepted=True),
        "answers of 4 MiB": flood(
            lambda s: begun(s) + frame(DATA, 0, s, bytes(16384)) * 256 + frame(DATA, END_STREAM, s), 50),
        "503 with a field of 64 KiB": each(lambda s: block(s, status(503) + field(b"x-long", b"x" * 65_000))),
        "503 with a field of 1 MiB": each(lambda s: block(s, status(503) + field(b"x-long", b"x" * (1 << 20)))),
        "503 with 10 000 fields": each(lambda s: block(s, status(503) + many)),
        "503 with 10 000 fields in 10 KB": each(lambda s: block(s, status(503) + b"\x90" * 10_000)),
        "CONTINUATION without end": each(
            lambda s: frame(HEADERS, 0, s, head(503)) + frame(CONTINUATION, 0, s, field(b"x-more", b"x")) * 10_000),
        "empty CONTINUATION without end": each(lambda s: frame(HEADERS, 0, s, head(503)) + frame(CONTINUATION, 0, s) * 10_000),
        "200 and RST before the body is read": Early,
        "503 and the body never read": EarlyRefusal,
        "GOAWAY 0 with the SETTINGS": AtOnce,
        "GOAWAY 0 while 10 are open": after(20, ten_open),
        "GOAWAY ENHANCE_YOUR_CALM": after(20, calm),
        "GOAWAY thrice with growing ids": after(20, twice),
        "each stream refused": each(lambda s: reset(s, REFUSED_STREAM)),
        "reads no more after 20 requests": after(20, deaf),
        "SETTINGS flood": flood(lambda s: settings(streams=100) * 2_000 + answer(s)),
        "PING flood": flood(lambda s: frame(PING, payload=bytes(8)) * 2_000 + answer(s)),
        "PING flood without reading": after(20, pongs),
        "RST flood": flood(lambda s: answer(s) + reset(s, CANCEL) * 2_000),
        "flood of empty DATA": flood(
            lambda s: begun(s) + frame(DATA, 0, s) * 2_000 + frame(DATA, END_STREAM, s, BODY)),
        "flood of WINDOW_UPDATE": flood(lambda s: window(0, 1) * 2_000 + answer(s)),
        "window overflow of a stream": each(lambda s: window(s, BIG - 1) * 2 + answer(s)),
        "window overflow of a connection": after(20, lambda self, *_: self.line.send(window(0, BIG - 1) * 2)),
        "frames and settings of unknown kinds": each(
            lambda s: frame(0xee, 0xff, s, b"x" * 50) + frame(0xbb) + frame(SETTINGS, payload=struct.pack(">HI", 0xeeee, 1))
            + answer(s), accepted=True),
        "PUSH_PROMISE": after(20, lambda self, s, _: self.line.send(
            frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", s + 1) + b"\x82\x87\x84" + field(b":authority", b"x")))),
        "1000 times 100 before an answer": flood(interim(100)),
        "1000 times 103 before an answer": flood(interim(103)),
        "frames of wrong size or place": after(20, wrong_frame),
        "answers that break HTTP": BrokenAnswers,
    }


def faults(wire, folder, certificate):
    server = Apart(functools.partial(FrameServer, certificate, kinds()))

    def begin(name):
        server.behave(name)
        wire.set("pass", server.port())

    def end():
        server.behave("")
        wire.set("pass")

    # Long enough for each offset: 8 connections at a time, about one second each.
    longer = {"stalls after each byte of an answer": 20, "frames of wrong size or place": 8}
    return [Fault(name, functools.partial(begin, name), end, server.taken, longer.get(name)) for name in kinds()]
