"""The faults of the host that a gateway meets while it runs: how each begins, lasts and ends."""
import errno, os, resource, signal, socket, time
from shim import DATABASE, LOG

HOUR_NS = 3_600_000_000_000
MB = 1 << 20


class Fault:
    seconds, disk_mb, share_clock, may_end, must_show, by_shim = 5, 0, False, False, True, False

    def __init__(self, name, **facts):
        self.name = name
        for key, value in facts.items():
            setattr(self, key, value)

    def begin(self, trial):
        pass

    def during(self, trial):
        time.sleep(self.seconds)

    def end(self, trial):
        pass

    def verdict(self):
        """Why the run is not in order, in words; None: it is."""


class Meddling(Fault):
    """What the shim does to the calls of the gateway."""
    by_shim = True

    def begin(self, trial):
        trial.shim.set(**self.values)

    def end(self, trial):
        trial.shim.set(**dict.fromkeys(self.values, 0))


class Ballast(Fault):
    """A file on the same disk leaves this much room."""
    disk_mb = 96

    def begin(self, trial):
        if not trial.is_mounted:
            trial.remarks.append("no disk of its own without root: ENOSPC by the shim")
            trial.shim.set(write_errno=errno.ENOSPC)
            return
        room = os.statvfs(trial.data)
        left = room.f_bavail * room.f_frsize - self.room_mb * MB
        with open(f"{trial.data}/ballast", "wb") as file:
            try:
                while left > 0:
                    left -= file.write(bytes(min(left, 65536)))
            except OSError:
                pass

    def end(self, trial):
        trial.shim.set(write_errno=0)
        if trial.is_mounted:
            os.remove(f"{trial.data}/ballast")


class Jump(Fault):
    """The wall clock jumps, while FCM fails and retries wait; later it jumps back."""
    seconds, fails_some = 6, False

    def begin(self, trial):
        if self.fails_some:
            # So few that the sender is not held: their retries have times of their own.
            first = trial.ledger.number
            tokens = [f"a{number:031x}" for number in range(first, first + 2000, 8)]
            order = {"order": "fail", "tokens": tokens, "status": 500, "reason": "INTERNAL"}
        else:
            order = {"order": "fail", "status": 500, "reason": "INTERNAL"}
        trial.simulators.call("POST", "/fcm/orders", order)
        time.sleep(1.5)
        self.before = trial.ledger.tokens()
        trial.shim.set(clock_ns=int(self.hours * HOUR_NS))

    def during(self, trial):
        began = time.monotonic()
        time.sleep(1)
        trial.simulators.call("POST", "/fcm/orders", {"order": "clear"})
        if self.share_clock:
            self.there = trial.wait_arrived(self.before, 15)
        time.sleep(max(0, began + self.seconds - time.monotonic()))

    def end(self, trial):
        trial.shim.set(clock_ns=0)

    def verdict(self):
        if self.share_clock and not self.there:
            return "what waited was held up while the clock was elsewhere"


class Descriptors(Fault):
    """Three more than are open, while clients come and FCM wants a new connection."""
    seconds = 8

    def begin(self, trial):
        pid = trial.gateway.process.pid
        self.limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        count = max(int(one) for one in os.listdir(f"/proc/{pid}/fd")) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (count + 3, self.limits[1]))

    def during(self, trial):
        began = time.monotonic()
        time.sleep(1)
        clients = []
        for _ in range(20):
            one = socket.socket()
            one.settimeout(1)
            if one.connect_ex(("127.0.0.1", trial.gateway.port)) == 0:
                clients.append(one)
        trial.simulators.call("POST", "/fcm/orders", {"order": "goaway", "after": 1, "answer": False})
        time.sleep(1)
        trial.gateway.process.send_signal(signal.SIGHUP)
        time.sleep(max(0, began + self.seconds - time.monotonic()))
        for one in clients:
            one.close()

    def end(self, trial):
        resource.prlimit(trial.gateway.process.pid, resource.RLIMIT_NOFILE, self.limits)


class Threads(Meddling):
    """No thread can be started; a reload comes meanwhile."""
    values = {"thread_errno": errno.EAGAIN}

    def during(self, trial):
        time.sleep(1)
        if self.is_reloaded:
            # A new instance needs threads of its own.
            path = f"{trial.folder}/gateway.yaml"
            with open(path) as file:
                text = file.read()
            with open(path + ".new", "w") as file:
                file.write(text.replace('topic: "${env:APNS_TOPIC:-com.example.app}"', 'topic: "com.example.app"'))
            os.rename(path + ".new", path)
            trial.gateway.process.send_signal(signal.SIGHUP)
        time.sleep(self.seconds)


class Memory(Fault):
    """No more address space: Swift ends a program that gets no memory."""
    may_end, seconds = True, 6

    def begin(self, trial):
        pid = trial.gateway.process.pid
        with open(f"/proc/{pid}/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(pid, resource.RLIMIT_AS, (size + (1 << 16), resource.RLIM_INFINITY))

    def during(self, trial):
        until = time.monotonic() + self.seconds
        while time.monotonic() < until and trial.gateway.is_running() and trial.gateway.ask("/readyz")[0]:
            # Large requests: it needs memory that it does not have yet.
            for _ in range(8):
                try:
                    with socket.create_connection(("127.0.0.1", trial.gateway.port), 1) as line:
                        line.settimeout(1)
                        line.sendall(b"POST /in/zendesk/s HTTP/1.1\r\nhost: x\r\ncontent-length: 900000\r\n\r\n" + b"[" * 900000)
                        line.recv(1)
                except OSError:
                    pass
        if not trial.gateway.ask("/readyz")[0]:
            # It writes its report; that takes a while.
            trial.gateway.process.wait(120)

    def end(self, trial):
        if trial.gateway.is_running():
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(trial.gateway.process.pid, resource.RLIMIT_AS, unlimited)


def faults():
    out = [
        Ballast("disk: 20 MiB left", room_mb=20),
        Ballast("disk: full at once", room_mb=0),
        Meddling("disk: ENOSPC of each write", values={"write_errno": errno.ENOSPC}),
        Meddling("disk: read-only", values={"write_errno": errno.EROFS}),
        Meddling("disk: EIO of each write", values={"write_errno": errno.EIO}),
        Meddling("disk: EIO of each fsync", values={"sync_errors": -1, "sync_errno": errno.EIO}),
        Meddling("disk: EIO of one fsync", values={"sync_errors": 1, "sync_name": LOG, "sync_errno": errno.EIO}),
        Meddling("disk: EIO of the database's fsyncs", values={"sync_errors": -1, "sync_name": DATABASE, "sync_errno": errno.EIO}),
        Meddling("disk: fsync takes 300 ms", values={"sync_us": 300_000}, must_show=False),
        Meddling("disk: fsync and write take 300 ms", values={"sync_us": 300_000, "write_us": 300_000}, seconds=10,
                 must_show=False),
    ]
    for hours, words in ((1, "+1 h"), (-1, "-1 h"), (23, "+23 h"), (-23, "-23 h")):
        out.append(Jump(f"clock: {words}", hours=hours, must_show=False))
        out.append(Jump(f"clock: {words}, the providers', too", hours=hours, share_clock=True, must_show=False))
    out.append(Jump("clock: -1 h, the providers', too; 1 of 8 is retried", hours=-1, share_clock=True, must_show=False,
                    fails_some=True))
    return out + [
        Descriptors("descriptors: 3 left, a reload"),
        Threads("threads: none more", is_reloaded=False, by_shim=False, must_show=False),
        Threads("threads: none more, a reload", is_reloaded=True),
        Memory("memory: none more"),
    ]
