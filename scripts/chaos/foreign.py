"""HTTP/2 servers that others wrote, in the place of FCM: nginx, h2o and nghttpd, with what each can do wrong.

nginx and h2o pass pushes to a backend that counts them by token. nghttpd answers with a file; what came is read from its dump.
"""
import atexit, collections, http.server, json, os, pwd, re, signal, subprocess, threading, time
from apart import TOKEN, Apart, program
from database import connects, free_port, wait
from rounds import Fault, repeatedly

PATH = "/v1/projects/signalbox-sim/messages:send"
ANSWER = json.dumps({"name": "projects/signalbox-sim/messages/1"}).encode()


class Backend:
    """Answers as FCM does, over HTTP/1.1, and keeps when each token came."""

    def __init__(self):
        self.port, self.server, self.slow = free_port(), None, 0
        self.tokens = collections.defaultdict(list)
        self.open()

    def open(self):
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if backend.slow:
                    # Whoever asked has given up by then, so it is not taken.
                    time.sleep(backend.slow)
                    self.close_connection = True
                    return
                self.send_response(200)
                self.send_header("content-type", "application/json; charset=UTF-8")
                self.send_header("content-length", str(len(ANSWER)))
                self.end_headers()
                backend.tokens[TOKEN.search(body)[1].decode()].append(int(time.time() * 1000))
                self.wfile.write(ANSWER)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size, block_on_close = True, 256, False

            def handle_error(self, *_):
                pass  # the server in front is killed in some faults

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def delay(self, seconds):
        self.slow = seconds

    def taken(self):
        return dict(self.tokens)


class Server:
    """A program that listens on a port of its own; each start has other settings."""

    def __init__(self, folder, certificate, backend):
        self.folder, self.certificate, self.backend = f"{folder}/{self.name}", certificate, backend
        os.makedirs(self.folder)
        self.port, self.process, self.settings = free_port(), None, ()
        atexit.register(self.kill)

    def start(self, *settings):
        self.settings = settings
        self.process = subprocess.Popen(self.command(*settings), stdout=self.output(), stderr=subprocess.STDOUT,
                                        start_new_session=True)
        wait(lambda: connects(self.port) or self.process.poll() is not None, 15, self.name)
        if self.process.poll() is not None:
            raise SystemExit(f"chaos-wire: {self.name} did not start: {self.folder}/log")

    def output(self):
        return open(f"{self.folder}/log", "a")

    def kill(self):
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None

    def restart(self):
        self.kill()
        self.start(*self.settings)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


class Nginx(Server):
    name = "nginx"

    def command(self, server="", location=""):
        user = f"user {pwd.getpwuid(0).pw_name};" if os.getuid() == 0 else ""
        places = "\n".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self.folder}/conf", "w") as file:
            file.write(f"""daemon off; {user} worker_processes 1; pid {self.folder}/pid; error_log {self.folder}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off; {places} limit_req_zone $binary_remote_addr zone=pushes:1m rate=20r/s;
  server {{
    listen 127.0.0.1:{self.port} ssl http2; ssl_certificate {self.certificate.chain}; ssl_certificate_key {self.certificate.key};
    {server}
    location / {{ proxy_pass http://127.0.0.1:{self.backend.port()}; proxy_http_version 1.1; {location} }}
  }}
}}""")
        return [program("nginx", "nginx"), "-e", f"{self.folder}/errors", "-c", f"{self.folder}/conf"]


class H2O(Server):
    name = "h2o"

    def command(self, top={}):
        where = {"host": "127.0.0.1", "port": self.port,
                 "ssl": {"certificate-file": self.certificate.chain, "key-file": self.certificate.key}}
        settings = {"num-threads": 1, "pid-file": f"{self.folder}/pid", "error-log": f"{self.folder}/errors", "hosts": {
            "default": {"listen": where, "paths": {"/": {"proxy.reverse.url": f"http://127.0.0.1:{self.backend.port()}/"}}}}}
        if os.getuid() == 0:
            settings["user"] = "root"
        with open(f"{self.folder}/conf", "w") as file:
            json.dump({**settings, **top}, file)  # JSON is YAML
        # A master that starts a new worker at each SIGHUP; the old one sends GOAWAY and finishes what it has.
        return [program("h2o", "h2o"), "-m", "master", "-c", f"{self.folder}/conf"]


class Nghttpd(Server):
    name = "nghttpd"

    def __init__(self, *given):
        super().__init__(*given)
        self.tokens, self.bodies = collections.defaultdict(list), collections.defaultdict(bytes)
        os.makedirs(os.path.dirname(f"{self.folder}/files{PATH}"))
        with open(f"{self.folder}/files{PATH}", "wb") as file:
            file.write(ANSWER)

    def output(self):
        return subprocess.PIPE

    def command(self, *options):
        return ["stdbuf", "-oL", program("nghttpd", "nghttp2-server"), "-a", "127.0.0.1", "-d", f"{self.folder}/files", "--hexdump",
                *options, str(self.port), self.certificate.key, self.certificate.chain]

    def start(self, *options):
        super().start(*options)
        threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True).start()

    def read(self, dump):
        """Each dump begins at offset 0 and is what nghttpd read at once: whole frames, as the gateway writes them."""
        data = b""
        for line in dump:
            found = re.match(rb"([0-9a-f]{8})  ((?:[0-9a-f]{2} +){1,16})", line)
            if not found:
                continue
            if int(found[1], 16) == 0:
                self.frames(data)
                data = b""
            data += bytes.fromhex(found[2].decode())
            # The next dump may be long in coming.
            if len(data) % 16 or self.is_whole(data):
                self.frames(data)
                data = b""

    @staticmethod
    def is_whole(data):
        at = 24 if data.startswith(b"PRI * HTTP/2.0") else 0
        while at + 9 <= len(data):
            at += 9 + int.from_bytes(data[at:at + 3], "big")
        return at == len(data)

    def frames(self, data):
        at = 24 if data.startswith(b"PRI * HTTP/2.0") else 0
        while at + 9 <= len(data):
            size, kind, flags = int.from_bytes(data[at:at + 3], "big"), data[at + 3], data[at + 4]
            stream, payload = int.from_bytes(data[at + 5:at + 9], "big"), data[at + 9:at + 9 + size]
            at += 9 + size
            if kind == 1:
                self.bodies[stream] = b""
            if kind == 0:
                self.bodies[stream] += payload
                if flags & 1 and (token := TOKEN.search(self.bodies.pop(stream))):
                    self.tokens[token[1].decode()].append(int(time.time() * 1000))

    def taken(self):
        return dict(self.tokens)


def faults(wire, folder, certificate):
    backend = Apart(Backend)
    nginx, h2o, nghttpd = (kind(folder, certificate, backend) for kind in (Nginx, H2O, Nghttpd))
    stops = []

    def fault(name, server, *settings, begin=lambda: None, end=lambda: None, again=None):
        """`again`: what is done to the server each second."""
        def start():
            server.start(*settings)
            begin()
            wire.set("pass", server.port)
            if again:
                stops.append(repeatedly(1, again))

        def stop():
            while stops:
                stops.pop()()
            end()
            wire.set("pass")
            server.kill()

        return Fault(f"{server.name}: {name}", start, stop, nghttpd.taken if server is nghttpd else backend.taken)

    def slow(name, server, *settings):
        return fault(name, server, *settings, begin=lambda: backend.delay(3), end=lambda: backend.delay(0))

    return [
        fault("no fault", nginx),
        fault("reload each second", nginx, again=nginx.reload),
        fault("kill -9 and start each second", nginx, again=nginx.restart),
        fault("GOAWAY after each 50 requests", nginx, "keepalive_requests 50;"),
        fault("1 stream at a time", nginx, "http2_max_concurrent_streams 1;"),
        fault("header buffers of 128 bytes: GOAWAY 11", nginx, "large_client_header_buffers 1 128; connection_pool_size 128;"),
        fault("no body above 100 bytes: 413", nginx, "client_max_body_size 100;"),
        fault("backend down: 502", nginx, begin=backend.close, end=backend.open),
        slow("backend slow: 504", nginx, "", "proxy_read_timeout 1s;"),
        fault("20 requests a second, else 503", nginx, "", "limit_req zone=pushes;"),
        fault("20 requests a second, else 429", nginx, "limit_req_status 429;", "limit_req zone=pushes;"),
        fault("no fault", h2o),
        fault("graceful restart each second", h2o, again=h2o.reload),
        fault("kill -9 and start each second", h2o, again=h2o.restart),
        fault("1 request at a time", h2o, {"http2-max-concurrent-requests-per-connection": 1}),
        fault("no body above 100 bytes: streams refused", h2o, {"limit-request-body": 100}),
        fault("backend down: 502", h2o, begin=backend.close, end=backend.open),
        slow("backend slow: 504", h2o, {"proxy.timeout.io": 1000}),
        fault("closes idle connections after 1 s", h2o, {"http2-idle-timeout": 1}),
        fault("no fault", nghttpd),
        fault("kill -9 and start each second", nghttpd, again=nghttpd.restart),
        fault("1 stream at a time", nghttpd, "-m", "1"),
        fault("windows of 63 bytes", nghttpd, "-w", "6"),
        fault("answers before the body", nghttpd, "--early-response"),
        fault("no content-length", nghttpd, "--no-content-length"),
        fault("255 bytes of padding", nghttpd, "-b", "255"),
        fault("trailers", nghttpd, "--trailer", "grpc-status: 0"),
        fault("no header table", nghttpd, "-c", "0", "--encoder-header-table-size", "0"),
    ]
