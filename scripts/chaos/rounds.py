"""One fault after the other, each with a row: what was promised, what arrived, and what the gateway said of it."""
import collections, re, shutil, signal, sys, tempfile, threading, time
from gateway import SIGNALBOX, Gateway, Load, percentile
from ledger import Simulators

COLUMNS = ("fault", "accepted", "sent", "refused", "doubled", "missing", "last after", "APNs' p99 before, during",
           "memory before, most", "/readyz said", "attempts and log")


class Fault:
    """`taken`: what a server in the simulator's place has accepted, by token, in Unix ms; None: the simulator keeps its place."""

    def __init__(self, name, begin, end, taken=None, seconds=None):
        self.name, self.begin, self.end, self.taken, self.seconds = name, begin, end, taken, seconds


def repeatedly(seconds, action):
    """Starts to do something again and again; the result stops it."""
    is_over = threading.Event()

    def work():
        while not is_over.wait(seconds):
            action()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def stop():
        is_over.set()
        thread.join(30)

    return stop


class Rounds:
    """A gateway between webhooks and two providers: APNs is well, FCM has the faults."""

    sums = [0.0, 0.0]

    def __init__(self, fcm=""):
        """`fcm`: a setting of the FCM plugin beside those of gateway.yaml."""
        self.fcm, self.folder = fcm, tempfile.mkdtemp(prefix="signalbox-wire-")
        self.simulators = Simulators(SIGNALBOX, f"{self.folder}/secrets")
        self.variables = dict(self.simulators.variables)
        self.status = 0

    def all(self, faults, seconds):
        """Runs faults; 1 if a push is missing."""
        if faults:
            self.start()
            for fault in faults:
                self.run(fault, seconds)
            self.gateway.process.terminate()
            self.gateway.process.wait(60)
            if self.load.refused:
                print(f"{self.load.refused} webhooks were refused", file=sys.stderr)
        self.simulators.process.kill()
        if not self.status:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.status

    def start(self):
        self.gateway = Gateway(self.folder, self.variables)
        if self.fcm:
            with open(f"{self.folder}/gateway.yaml") as file:
                text = file.read()
            with open(f"{self.folder}/gateway.yaml", "w") as file:
                file.write(text.replace('endpoint: "${env:FCM_ENDPOINT:-}"', f'endpoint: "${{env:FCM_ENDPOINT:-}}"\n      {self.fcm}'))
            self.gateway.process.send_signal(signal.SIGHUP)
        self.load = Load(self.gateway.port)
        self.load.run(3)  # warm

    def there(self, fault):
        """What FCM has, whoever stands for it."""
        out = self.simulators.times("fcm")
        for token, times in (fault.taken() if fault.taken else {}).items():
            out[token] = out[token] + times
        return out

    def settle(self, fault, numbers, seconds):
        """Waits until everything has arrived, or is refused."""
        deadline = time.monotonic() + seconds
        while True:
            there = self.there(fault)
            apns = self.simulators.times("apns")
            missing = [n for n in numbers if not there[f"a{n:031x}"]]
            lost = [n for n in numbers if not apns[f"{n:032x}"]]
            if (len(missing) <= self.refused() and not lost) or time.monotonic() > deadline:
                return there, missing, lost
            time.sleep(0.25)

    def attempts(self):
        """How often attempts at FCM ended in which way."""
        out = collections.Counter()
        for line in self.gateway.ask("/metrics")[1].splitlines():
            found = re.match(r'signalbox_deliveries_total\{.*sender="fcm",result="(.*?)",reason="(.*?)"\} (\d+)', line)
            if found and found[1] != "delivered":
                out[found[1], found[2]] += int(found[3])
        return out

    def refused(self):
        """Pushes that were given up for good since the fault began, and are counted as such."""
        return sum(count for (result, _), count in (self.attempts() - self.counted).items() if result == "failed")

    def memory(self):
        with open(f"/proc/{self.gateway.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) >> 10

    def remarks(self, mark):
        """How attempts ended, and the commonest reason that the log gives, or else its commonest line about FCM."""
        ended = [f"{count} {result}: {reason}" for (result, reason), count in (self.attempts() - self.counted).most_common(2)]
        with open(f"{self.folder}/log", errors="replace") as file:
            file.seek(mark)
            lines = [line[25:].strip() for line in file if "plugin.instance=fcm" in line and "delivery.id" not in line]
        reasons = collections.Counter(found[1] for line in lines if (found := re.search(r'(?:reason|detail)="(.+?)"( |$)', line)))
        if not reasons and not ended:
            reasons = collections.Counter(re.sub(r"[\w.]+=\S+", "", line).strip() for line in lines)
        # The stand-in's name and port say nothing to a reader.
        log = [re.sub(r"[\w.]+:\d+( \([\w.]+\))?: |, port \d+", "", reason) for reason, _ in reasons.most_common(1)]
        return "; ".join(ended + log).replace("|", "/")[:90]

    def run(self, fault, seconds):
        for provider in ("apns", "fcm"):
            self.simulators.call("DELETE", f"/{provider}/received")
        self.counted, mark = self.attempts(), self.gateway.log.seek(0, 2)
        before = self.load.run(3)
        if fault.taken:
            # FCM's place is taken by a server while nothing is on its way: what is doubled is not the change's doing.
            self.settle(fault, before, 10)
        sizes, said = [self.memory()], []
        fault.begin()
        duration = fault.seconds or seconds
        watch = repeatedly(0.1, lambda: sizes.append(self.memory()))
        ask = threading.Timer(duration * 0.8, lambda: said.append(self.gateway.says()))
        ask.start()
        during = self.load.run(duration)
        ask.join()
        if fault.taken:
            self.settle(fault, before + during, 1)
        fault.end()
        ended = time.time()
        there, missing, lost = self.settle(fault, before + during, 120)
        watch()
        refused, all = min(self.refused(), len(missing)), before + during
        arrived = [times for n in all if (times := there[f"a{n:031x}"])]
        last = max((max(times) for times in arrived), default=0) / 1000 - ended
        p99 = [percentile(self.simulators, self.load, part) for part in (before, during)]
        Rounds.sums = [self.sums[0] + p99[0], self.sums[1] + p99[1]]
        self.row(fault.name, len(all), len(arrived), refused, sum(map(len, arrived)) - len(arrived),
                 len(missing) - refused + len(lost), f"{max(0, last):.1f} s", f"{p99[0]:.0f} ms, {p99[1]:.0f} ms",
                 f"{sizes[0]}, {max(sizes)} MiB", said[0], self.remarks(mark))
        self.status |= len(missing) > refused or bool(lost)

    @staticmethod
    def row(*cells):
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)

    @classmethod
    def head(cls):
        cls.row(*COLUMNS)
        cls.row(*["---"] * len(COLUMNS))
