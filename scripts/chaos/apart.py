"""Servers in processes of their own, so that their work does not delay the load; and their certificates."""
import atexit, multiprocessing, re, shutil, signal, subprocess, threading

TOKEN = re.compile(rb'"token":"([^"]+)"')


class Apart:
    """An object in another process. Its methods are called through a pipe, one at a time."""

    def __init__(self, make, *arguments):
        context = multiprocessing.get_context("fork")
        self.pipe, end = context.Pipe()
        self.lock = threading.Lock()
        self.process = context.Process(target=self.serve, args=(end, make, arguments), daemon=True)
        self.process.start()
        end.close()
        self.pipe.recv()  # it is made
        atexit.register(self.process.kill)

    @staticmethod
    def serve(end, make, arguments):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        one = make(*arguments)
        end.send(None)
        while True:
            try:
                name, given = end.recv()
            except EOFError:
                return
            found = getattr(one, name)
            end.send(found(*given) if callable(found) else found)

    def __getattr__(self, name):
        def call(*given):
            with self.lock:
                self.pipe.send((name, given))
                return self.pipe.recv()
        return call


class Certificate:
    """A certificate for the stand-ins of FCM, of an authority that the gateway trusts beside the simulators' own."""

    def __init__(self, folder, trusted, names="IP:127.0.0.1"):
        self.key, self.chain, self.roots = f"{folder}/stand-in.key", f"{folder}/stand-in.pem", f"{folder}/roots.pem"
        root, root_key = f"{folder}/root.pem", f"{folder}/root.key"
        with open(f"{folder}/stand-in.ext", "w") as file:
            file.write(f"subjectAltName={names}\n")
        make = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split()
        self.openssl(make + ["-x509", "-days", "2", "-keyout", root_key, "-out", root, "-subj", "/CN=Signalbox chaos"])
        self.openssl(make + ["-keyout", self.key, "-out", f"{folder}/stand-in.csr", "-subj", "/CN=stand-in"])
        self.openssl(["openssl", "x509", "-req", "-days", "2", "-in", f"{folder}/stand-in.csr", "-CA", root, "-CAkey", root_key,
                      "-CAcreateserial", "-extfile", f"{folder}/stand-in.ext", "-out", self.chain])
        with open(self.roots, "w") as out:
            for part in (trusted, root):
                with open(part) as file:
                    out.write(file.read() + "\n")

    @staticmethod
    def openssl(command):
        subprocess.run(command, check=True, capture_output=True)


def program(name, package):
    """Where a server is; Debian keeps them in folders that are not on every PATH."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if not found:
        raise SystemExit(f"chaos-wire: no {name}: apt-get install {package}, or scripts/setup.sh wire")
    return found
