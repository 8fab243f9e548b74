"""The gateways of the fleet and HAProxy in front of them."""
import atexit, http.client, os, re, signal, subprocess, time
from database import connects, free_port, wait


class Gateway:
    """One gateway on the shared database, behind a proxy per database node."""

    def __init__(self, name, folder, signalbox, config, variables, proxies):
        self.name, self.folder, self.signalbox, self.process = name, f"{folder}/{name}", signalbox, None
        os.makedirs(self.folder)
        self.port, self.admin, self.proxies = free_port(), free_port(), proxies
        atexit.register(self.kill)
        hosts, ports = (",".join(x) for x in zip(*(("127.0.0.1", str(one.port)) for one in proxies)))
        url = (f"postgresql://signalbox:signalbox@/signalbox?host={hosts}&port={ports}"
               "&target_session_attrs=read-write&connect_timeout=2")
        self.variables = dict(
            os.environ, **variables, SIGNALBOX_LISTEN=f"127.0.0.1:{self.port}", SIGNALBOX_ADMIN=f"127.0.0.1:{self.admin}",
            ZENDESK_PATH_SECRET="s", ZENDESK_API_TOKEN="t", DATABASE_URL=url, GATEWAY_NAME=name)
        with open(config) as file:
            text = file.read()
        # HAProxy asks for readiness every half a second.
        lines = ('  name: "${env:GATEWAY_NAME}"\n  store: { postgres: "${env:DATABASE_URL}" }\n'
                 '  shutdown_delay: 1500ms\n')
        with open(f"{self.folder}/gateway.yaml", "w") as file:
            file.write(re.sub(r"^gateway:\n", "gateway:\n" + lines, text, flags=re.M))

    def start(self, signalbox=None):
        log = open(f"{self.folder}/log", "a")
        self.process = subprocess.Popen(
            [signalbox or self.signalbox, "run", "--config", f"{self.folder}/gateway.yaml"],
            stdout=log, stderr=log, cwd=self.folder, env=self.variables)

    def wait_ready(self, seconds=60):
        wait(self.is_ready, seconds, f"{self.name} to be ready; see {self.folder}/log")

    def is_ready(self):
        try:
            line = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=2)
            line.request("GET", "/readyz")
            return line.getresponse().status == 200
        except OSError:
            return False

    def metric(self, name):
        """The sum of a metric's series, of all or of those with the labels given; 0 if the gateway does not answer."""
        try:
            line = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=2)
            line.request("GET", "/metrics")
            text = line.getresponse().read().decode()
        except OSError:
            return 0.0
        return sum(float(x) for x in re.findall(rf"^{name}(?:{{.*}})? ([0-9.e+]+)$", text, re.M))

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()

    def send(self, number):
        self.process.send_signal(number)

    def end(self, seconds=60):
        """Waits for its end; its status."""
        return self.process.wait(seconds)


class Balancer:
    """HAProxy with the configuration that deploy/ ships."""

    def __init__(self, folder, template, gateways):
        self.port = free_port()
        with open(template) as file:
            text = file.read()
        text = re.sub(r"(?m)^    bind \S+", f"    bind 127.0.0.1:{self.port}", text, count=1)
        # Also those that are asked if all look dead: a request that left this machine would tell nothing of a gateway.
        for number, one in enumerate(gateways, 11):
            text = text.replace(f"10.0.0.{number}:8080 check port 8081", f"127.0.0.1:{one.port} check port {one.admin}")
            text = text.replace(f"10.0.0.{number}:8080", f"127.0.0.1:{one.port}")
        if "10.0.0." in text:
            raise SystemExit(f"{template} has a server that none of the {len(gateways)} gateways stands for")
        with open(f"{folder}/haproxy.cfg", "w") as file:
            file.write(text)
        log = open(f"{folder}/haproxy.log", "w")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", f"{folder}/haproxy.cfg"], stdout=log, stderr=log)
        atexit.register(self.process.kill)
        wait(lambda: connects(self.port), 20, "HAProxy")
        time.sleep(0.5)
