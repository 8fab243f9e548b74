"""A gateway with the shipped gateway.yaml, webhooks for it, and when their pushes arrived."""
import atexit, collections, http.client, json, os, subprocess, time
from database import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIGNALBOX = f"{ROOT}/.build/release/signalbox"


class Gateway:
    def __init__(self, folder, variables):
        self.port, self.admin, self.folder = free_port(), free_port(), folder
        environment = dict(os.environ, **variables, SIGNALBOX_LISTEN=f"127.0.0.1:{self.port}",
                           SIGNALBOX_ADMIN=f"127.0.0.1:{self.admin}", ZENDESK_PATH_SECRET="s", ZENDESK_DEDUPE="0s")
        with open(f"{ROOT}/gateway.yaml") as file:
            text = file.read()
        with open(f"{folder}/gateway.yaml", "w") as file:
            # Patient enough for the longest fault.
            file.write(text.replace("retry: standard", "retry: patient").replace(
                "# retry:\n#   patient: { initial: 5s, factor: 3, max: 10m, retries: 8, jitter: 0.2 }",
                "retry:\n  patient: { initial: 200ms, factor: 1.5, max: 2s, retries: 100, jitter: 0.2 }"))
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen([SIGNALBOX, "run", "--config", f"{folder}/gateway.yaml"], cwd=folder, env=environment,
                                        stdout=self.log, stderr=self.log)
        atexit.register(self.process.kill)
        while self.ask("/readyz")[0] != 200:
            if self.process.poll() is not None:
                raise SystemExit(open(f"{folder}/log").read())
            time.sleep(0.05)

    def ask(self, path):
        try:
            line = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=5)
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""

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


def arrivals(simulators, name):
    out = collections.defaultdict(list)
    for one in json.loads(simulators.call("GET", f"/{name}/received?count=0&timeout_ms=0")):
        if one["status"] == 200:
            out[one["token"]].append(one["unix_ms"])
    return out


def percentile(simulators, load, numbers):
    times = arrivals(simulators, "apns")
    took = sorted(times[f"{n:032x}"][0] - load.sent[n] * 1000 for n in numbers if times[f"{n:032x}"])
    return took[int(len(took) * 0.99)] if took else float("nan")
