"""What a webhook with two pushes costs the gateway: see event-cost.sh."""
import http.client, json, os, re, shutil, signal, socket, struct, subprocess, sys, tempfile, time

signalbox, counter, config, events = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
folder = tempfile.mkdtemp(prefix="signalbox-cost-")
children = []


def start(args, **more):
    child = subprocess.Popen(args, stdout=subprocess.PIPE, text=True, bufsize=1, **more)
    children.append(child)
    return child


def simulators():
    """Starts the simulators: the variables that gateway.yaml needs, and the port of their control API."""
    said = {}
    for line in start([signalbox, "simulate", "--folder", f"{folder}/secrets"]).stdout:
        said.update(re.findall(r"export ([A-Z_]+)=(\S+)", line))
        control = re.search(r"control API http://127.0.0.1:(\d+)", line)
        if control:
            port = int(control[1])
        if "SIGNALBOX_CA_FILE" in said:
            return said, port
    sys.exit("event-cost: the simulators did not start")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(port, path):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    line.request("GET", path)
    answer = line.getresponse()
    return answer.status, answer.read()


def wait_ready(port):
    for _ in range(300):
        try:
            if get(port, "/readyz")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("event-cost: the gateway did not start")


class Gateway:
    """A gateway with the shipped configuration, and how many webhooks it got."""

    def __init__(self):
        environment, self.control = simulators()
        self.counts, self.sent = f"{folder}/counts", 0
        port, admin = free_port(), free_port()
        environment.update(
            SIGNALBOX_LISTEN=f"127.0.0.1:{port}", SIGNALBOX_ADMIN=f"127.0.0.1:{admin}", ZENDESK_PATH_SECRET="s", ZENDESK_API_TOKEN="t",
            LD_PRELOAD=counter, SBX_COUNT_FILE=self.counts)
        with open(config) as file:
            text = file.read().replace("level: info", "level: warning")
        with open(f"{folder}/gateway.yaml", "w") as file:
            file.write(text)
        self.pid = start([signalbox, "run", "--config", f"{folder}/gateway.yaml"],
                         env=dict(os.environ, **environment), cwd=folder).pid
        wait_ready(admin)
        self.line = http.client.HTTPConnection("127.0.0.1", port)

    def send(self, count):
        """Sends webhooks 10 ms apart, and waits until all their pushes have arrived."""
        for _ in range(count):
            ticket = str(self.sent)
            body = json.dumps({
                "devices": [{"identifier": f"{self.sent:032x}", "type": "ios"},
                            {"identifier": f"a{self.sent:031x}", "type": "android"}],
                "notification": {"title": "Ada replied", "ticket_id": ticket,
                                 "body": "Your parcel is on its way and will be with you tomorrow."}})
            self.line.request("POST", "/in/zendesk/s", body, {"content-type": "application/json"})
            answer = self.line.getresponse()
            answer.read()
            if answer.status != 200:
                sys.exit(f"event-cost: a webhook was answered {answer.status}")
            self.sent += 1
            time.sleep(0.01)
        for provider in ("apns", "fcm"):
            _, text = get(self.control, f"/{provider}/received?count={self.sent}&timeout_ms=60000")
            if text.count(b'"token"') < self.sent:
                sys.exit(f"event-cost: {provider} got fewer than {self.sent} pushes")
        time.sleep(0.5)

    def seen(self):
        """Allocations, their bytes, and voluntary switches so far."""
        switches = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/status") as status:
                switches += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)[1])
        with open(self.counts, "rb") as file:
            return (*struct.unpack("QQ", file.read(16)), switches)

    def parses(self, count):
        """JSON parses per webhook: a breakpoint that counts and goes on."""
        ready, said = f"{folder}/ready", f"{folder}/gdb.txt"
        steps = ["break csj_parse", "ignore 1 1000000", f"shell touch {ready}", "continue", "info breakpoints", "detach"]
        with open(said, "w") as out:
            gdb = subprocess.Popen(
                ["gdb", "-nx", "-q", "-batch", "-iex", "set auto-solib-add off", "-p", str(self.pid)]
                + [word for step in steps for word in ("-ex", step)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            children.append(gdb)
            while not os.path.exists(ready):
                time.sleep(0.1)
            time.sleep(1)
            self.send(count)
            os.kill(self.pid, signal.SIGINT)
            gdb.wait()
        with open(said) as text:
            hits = re.search(r"already hit (\d+) time", text.read())
        return round(int(hits[1]) / count, 2) if hits else 0


def main():
    gateway = Gateway()
    gateway.send(50)
    first = gateway.seen()
    time.sleep(0.5 + events * 0.012)
    idle = gateway.seen()
    gateway.send(events)
    last = gateway.seen()
    names = ("allocations", "allocated_bytes", "voluntary_switches")
    cost = {name: round((c - b - (b - a)) / events, 1) for name, a, b, c in zip(names, first, idle, last)}
    cost["parses"] = gateway.parses(20)
    print(json.dumps(cost))


try:
    main()
finally:
    for child in reversed(children):
        child.kill()
        child.wait()
    shutil.rmtree(folder, ignore_errors=True)
