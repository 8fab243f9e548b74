"""PostgreSQL with a synchronous standby under Patroni and etcd: real servers, free ports, one folder."""
import atexit, json, os, pwd, signal, socket, subprocess, time, urllib.request

BINARIES = "/usr/lib/postgresql"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def binaries():
    """The folder of the newest PostgreSQL on this machine."""
    found = sorted(os.listdir(BINARIES), key=int) if os.path.isdir(BINARIES) else []
    if not found:
        raise SystemExit("chaos-fleet: no PostgreSQL below /usr/lib/postgresql: apt-get install postgresql")
    return f"{BINARIES}/{found[-1]}/bin"


def as_postgres():
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []


class Node:
    """One Patroni and the PostgreSQL that it runs."""

    def __init__(self, name, folder, etcd, ttl):
        self.name, self.folder = name, f"{folder}/{name}"
        self.port, self.rest, self.process = free_port(), free_port(), None
        os.makedirs(self.folder, mode=0o700)
        self.is_mounted = os.getuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1g,mode=0700", "signalbox-chaos", self.folder],
            capture_output=True).returncode == 0
        settings = {
            "scope": "signalbox", "name": name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd": {"host": f"127.0.0.1:{etcd}"},
            "bootstrap": {
                "dcs": {"ttl": ttl, "loop_wait": 2, "retry_timeout": 4, "synchronous_mode": True,
                        "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 60}}},
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
                "pg_hba": ["host all all 127.0.0.1/32 scram-sha-256", "host replication all 127.0.0.1/32 scram-sha-256"]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": f"{self.folder}/data", "bin_dir": binaries(),
                "pgpass": f"{self.folder}/pgpass",
                "authentication": {"superuser": {"username": "postgres", "password": "super"},
                                   "replication": {"username": "replicator", "password": "repl"}},
                "parameters": {"unix_socket_directories": self.folder, "shared_buffers": "64MB"}}}
        with open(f"{self.folder}/patroni.yml", "w") as file:
            json.dump(settings, file)  # JSON is YAML
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            for path in (self.folder, f"{self.folder}/patroni.yml"):
                os.chown(path, owner.pw_uid, owner.pw_gid)

    def start(self):
        log = open(f"{self.folder}.log", "a")
        self.process = subprocess.Popen(
            as_postgres() + ["patroni", f"{self.folder}/patroni.yml"], stdout=log, stderr=log, start_new_session=True)

    def kill(self):
        """SIGKILL to Patroni and its PostgreSQL, as a machine that loses power."""
        try:
            with open(f"{self.folder}/data/postmaster.pid") as file:
                postmaster = int(file.readline())
        except (OSError, ValueError):
            postmaster = None
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        if postmaster:
            # Its children share its session; without the postmaster they end by themselves, but not at once.
            for child in children(postmaster) + [postmaster]:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def fill(self):
        """Leaves no room on its disk; only where it has one of its own, which takes root."""
        if not self.is_mounted:
            raise SystemExit("chaos-fleet: `full` needs root, for a disk of its own: leave it out with --only")
        with open(f"{self.folder}/ballast", "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass

    def free(self):
        os.remove(f"{self.folder}/ballast")

    def unmount(self):
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.folder], check=False)

    def state(self, path="patroni"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/{path}", timeout=2) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as answer:
            return json.load(answer)
        except (OSError, ValueError):
            return {}


def children(pid):
    out = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    out.append(int(entry))
        except (OSError, ValueError, IndexError):
            continue
    return out


class Cluster:
    """Two nodes, one of them the synchronous standby."""

    def __init__(self, folder, ttl=20):
        self.folder = folder
        if os.getuid() == 0:
            os.chmod(folder, 0o755)
        client, peer = free_port(), free_port()
        os.makedirs(f"{folder}/etcd", mode=0o700)
        log = open(f"{folder}/etcd.log", "w")
        self.etcd = subprocess.Popen(
            ["etcd", "--enable-v2", "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{client}",
             "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}"], stdout=log, stderr=log)
        self.nodes = []
        atexit.register(self.stop)
        wait(lambda: connects(client), 30, "etcd")
        for name in ("pg1", "pg2"):
            self.nodes.append(Node(name, folder, client, ttl))

    def start(self):
        self.nodes[0].start()
        wait(self.leader, 90, "the primary")
        self.nodes[1].start()
        self.wait_whole()
        self.sql("CREATE ROLE signalbox LOGIN PASSWORD 'signalbox'")
        self.sql("CREATE DATABASE signalbox OWNER signalbox")

    def leader(self):
        """The node that takes writes now, or None."""
        for node in self.nodes:
            state = node.state()
            if state.get("role") in ("master", "primary") and state.get("state") == "running":
                return node
        return None

    def is_whole(self):
        """The standby has all commits, and Patroni has written down that it may take over."""
        leader = self.leader()
        if not leader or not any(one.get("sync_state") == "sync" for one in leader.state().get("replication", [])):
            return False
        return any(one.get("role") == "sync_standby" for one in leader.state("cluster").get("members", []))

    def wait_whole(self, seconds=120):
        wait(self.is_whole, seconds, "the synchronous standby")

    def sql(self, text, database="postgres"):
        node = self.leader()
        out = subprocess.run(
            [f"{binaries()}/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text,
             f"host=127.0.0.1 port={node.port} user=postgres dbname={database}"],
            env=dict(os.environ, PGPASSWORD="super"), capture_output=True, text=True, timeout=60)
        if out.returncode:
            raise RuntimeError(out.stderr.strip())
        return out.stdout.strip()

    def stop(self):
        for node in self.nodes:
            node.kill()
            node.unmount()
        self.etcd.kill()
        self.etcd.wait()


def connects(port):
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait(condition, seconds, what):
    """Waits for a true value and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        out = condition()
        if out:
            return out
        time.sleep(0.1)
    raise SystemExit(f"chaos-fleet: waited {seconds} s for {what}")
