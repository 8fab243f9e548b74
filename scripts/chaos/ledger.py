"""What was promised (webhooks answered 2xx) and what arrived (pushes that the simulators accepted)."""
import atexit, collections, http.client, json, os, re, subprocess, threading, time


class Simulators:
    """The APNs and FCM simulators of the program."""

    def __init__(self, signalbox, folder, environment=None):
        self.variables, self.control = {}, None
        self.process = subprocess.Popen([signalbox, "simulate", "--folder", folder], stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=dict(os.environ, **environment or {}))
        atexit.register(self.process.kill)
        for line in self.process.stdout:
            self.variables.update(re.findall(r"export ([A-Z_]+)=(\S+)", line))
            control = re.search(r"control API http://127.0.0.1:(\d+)", line)
            if control:
                self.control = int(control[1])
            if "SIGNALBOX_CA_FILE" in self.variables and self.control:
                return
        raise SystemExit("chaos-fleet: the simulators did not start")

    def call(self, method, path, order=None):
        line = http.client.HTTPConnection("127.0.0.1", self.control, timeout=120)
        line.request(method, path, json.dumps(order) if order else None)
        answer = line.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"chaos-fleet: {method} {path} was answered {answer.status}")
        return body

    def order(self, order):
        for name in ("apns", "fcm"):
            self.call("POST", f"/{name}/orders", order)

    def arrivals(self):
        """Accepted pushes: the ids of each token, one per push."""
        out = collections.defaultdict(list)
        for name in ("apns", "fcm"):
            for one in json.loads(self.call("GET", f"/{name}/received?count=0&timeout_ms=0")):
                if one["status"] == 200:
                    headers = one["headers"]
                    headers = headers if isinstance(headers, dict) else dict(headers)
                    out[one["token"]].append(headers.get("apns-id", ""))
        return out

    def times(self, name):
        """Accepted pushes of one provider: when each token's arrived, in Unix milliseconds."""
        out = collections.defaultdict(list)
        for one in json.loads(self.call("GET", f"/{name}/received?count=0&timeout_ms=0")):
            if one["status"] == 200:
                out[one["token"]].append(one["unix_ms"])
        return out

    def forget(self):
        for name in ("apns", "fcm"):
            self.call("DELETE", f"/{name}/received")


def post(line, port, number):
    """Posts the webhook of a number: its status, or the name of what failed, and the connection for the next one."""
    body = json.dumps({
        "devices": [{"identifier": f"{number:032x}", "type": "ios"}, {"identifier": f"a{number:031x}", "type": "android"}],
        "notification": {"title": "Ada replied", "ticket_id": str(number), "body": "Your parcel is on its way."}})
    try:
        line = line or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("POST", "/in/zendesk/s", body, {"content-type": "application/json"})
        answer = line.getresponse()
        answer.read()
        return answer.status, None if answer.getheader("connection", "").lower() == "close" else line
    except (OSError, http.client.HTTPException) as fault:
        return type(fault).__name__, None


class Ledger:
    """Posts webhooks with several threads, and keeps what was answered."""

    def __init__(self, port, posters=4):
        self.port, self.posters = port, posters
        self.lock, self.number, self.is_on, self.threads = threading.Lock(), 0, False, []
        # Some hundred webhooks per second: the harms are the test, not the load.
        self.pause = 0.005
        self.promised, self.refused, self.longest, self.times = [], collections.Counter(), 0.0, []
        # When the first webhook after `mark` was answered 200.
        self.accepted_again = None

    def mark(self):
        self.accepted_again = None

    def take_times(self):
        """How long the answers took since the last call, in seconds."""
        with self.lock:
            out, self.times = self.times, []
        return out

    def tokens(self):
        """What was promised in this round."""
        with self.lock:
            return list(self.promised)

    def begin(self):
        self.promised, self.refused, self.longest, self.times = [], collections.Counter(), 0.0, []
        self.is_on = True
        self.threads = [threading.Thread(target=self.post, daemon=True) for _ in range(self.posters)]
        for one in self.threads:
            one.start()

    def end(self):
        self.is_on = False
        for one in self.threads:
            one.join(60)

    def post(self):
        line = None
        while self.is_on:
            with self.lock:
                self.number += 1
                number = self.number
            began = time.monotonic()
            what, line = post(line, self.port, number)
            took = time.monotonic() - began
            with self.lock:
                self.longest = max(self.longest, took)
                self.times.append(took)
                if what == 200:
                    self.accepted_again = self.accepted_again or began + took
                    self.promised += [f"{number:032x}", f"a{number:031x}"]
                else:
                    self.refused[str(what)] += 1
            time.sleep(max(0, self.pause - took) if what == 200 else 0.05)
