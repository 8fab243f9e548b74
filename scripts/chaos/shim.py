"""Builds shim.c, and steers it in the processes that have it preloaded."""
import mmap, os, struct, subprocess

# The order is that of shim.c.
WORDS = ["write_errno", "sync_errno", "sync_errors", "sync_name", "sync_us", "write_us", "clock_ns", "thread_errno", "hits"]
LOG, DATABASE = 1, 2


def build(folder):
    """The library, built into a folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", f"{folder}/shim.so",
                    f"{here}/shim.c"], check=True)
    return f"{folder}/shim.so"


class Shim:
    """What a process with these variables meets; all is well at first."""

    def __init__(self, library, name, data=None, journal=None):
        with open(name, "wb") as file:
            file.write(bytes(16 * 8))
        with open(name, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 16 * 8)
        self.variables = {"LD_PRELOAD": library, "SIGNALBOX_CHAOS_CONTROL": name}
        if data:
            self.variables["SIGNALBOX_CHAOS_FOLDER"] = data
        if journal:
            self.variables["SIGNALBOX_CHAOS_JOURNAL"] = journal

    def set(self, **values):
        for name, value in values.items():
            struct.pack_into("<q", self.words, WORDS.index(name) * 8, value)

    def get(self, name):
        return struct.unpack_from("<q", self.words, WORDS.index(name) * 8)[0]
