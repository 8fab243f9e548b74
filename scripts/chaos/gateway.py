"""One gateway of the release build on SQLite, with the shipped gateway.yaml and a patient retry policy, and webhooks for it."""
import atexit, http.client, json, os, re, signal, subprocess, time
from database import free_port
from ledger import post

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# make test runs one round on its debug build, so that these scripts cannot rot.
SIGNALBOX = f"{ROOT}/.build/{os.environ.get('SIGNALBOX_BUILD', 'release')}/signalbox"


class Gateway:
    def __init__(self, folder, variables, prefix=()):
        self.port, self.admin, self.folder, self.prefix = free_port(), free_port(), folder, list(prefix)
        self.environment = dict(os.environ, SIGNALBOX_LISTEN=f"127.0.0.1:{self.port}", SIGNALBOX_ADMIN=f"127.0.0.1:{self.admin}",
                                ZENDESK_PATH_SECRET="s", ZENDESK_API_TOKEN="t", ZENDESK_DEDUPE="0s")
        self.environment.update(variables)
        os.makedirs(folder, exist_ok=True)
        with open(f"{ROOT}/gateway.yaml") as file:
            text = file.read()
        with open(f"{folder}/gateway.yaml", "w") as file:
            # Patient enough for the longest fault.
            file.write(text.replace("retry: standard", "retry: patient").replace(
                "# retry:\n#   patient: { initial: 5s, factor: 3, max: 10m, retries: 8, jitter: 0.2 }",
                "retry:\n  patient: { initial: 200ms, factor: 1.5, max: 2s, retries: 100, jitter: 0.2 }"))
        self.process = None
        atexit.register(self.kill)
        self.start()

    def start(self, wait=True):
        self.log = open(f"{self.folder}/log", "a+")
        self.process = subprocess.Popen(self.prefix + [SIGNALBOX, "run", "--config", f"{self.folder}/gateway.yaml"],
                                        cwd=self.folder, env=self.environment, stdout=self.log, stderr=self.log)
        while wait and self.ask("/readyz")[0] != 200:
            if self.process.poll() is not None:
                raise SystemExit(open(f"{self.folder}/log").read())
            time.sleep(0.05)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """As a power cut ends it."""
        if self.is_running():
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self, seconds=60):
        """Ends it in good order; its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def ask(self, path):
        try:
            line = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=5)
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def ready(self):
        """The status of /readyz, and what its body says."""
        status, body = self.ask("/readyz")
        try:
            return status, json.loads(body)
        except ValueError:
            return status, {}

    def metrics(self):
        """The sum of each metric's series, and of those that have a status: by its first digit, too."""
        out = {}
        for name, labels, value in re.findall(r"^(\w+)(\{.*\})? ([0-9.e+-]+)$", self.ask("/metrics")[1], re.M):
            out[name] = out.get(name, 0.0) + float(value)
            status = re.search(r'status="(\d)', labels)
            if status:
                kind = f"{name}_{status[1]}xx"
                out[kind] = out.get(kind, 0.0) + float(value)
        return out

    def log_size(self):
        return os.path.getsize(f"{self.folder}/log")

    def log_after(self, place):
        with open(f"{self.folder}/log", errors="replace") as file:
            file.seek(place)
            return file.read()

    def says(self):
        """What /readyz says of the sender that has the fault."""
        status, body = self.ask("/readyz")
        try:
            for one in json.loads(body)["senders"]:
                if one.get("sender") == "fcm":
                    return f"{status}, {one.get('reason') or one.get('state') or 'ready'}"
        except (ValueError, KeyError):
            pass
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
            now = time.time()
            what, line = post(line, self.port, n)
            if what == 200:
                self.sent[n] = now
            else:
                self.refused += 1
            time.sleep(max(0, 0.01 - (time.time() - now)))
        return [n for n in range(first + 1, self.number + 1) if n in self.sent]


def percentile(simulators, load, numbers):
    times = simulators.times("apns")
    took = sorted(times[f"{n:032x}"][0] - load.sent[n] * 1000 for n in numbers if times[f"{n:032x}"])
    return took[int(len(took) * 0.99)] if took else float("nan")
