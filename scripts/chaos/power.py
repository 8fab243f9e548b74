"""What a power cut leaves of a folder: the snapshot of its start, and of the changes in shim.c's journal those that were synced."""
import os, random, struct

OPENED, WRITTEN, CUT, SYNCED, UNLINKED, RENAMED = range(1, 7)
SECTOR = 512
HEAD = struct.Struct("<5Q")


class File:
    def __init__(self, content=b""):
        self.durable = bytearray(content)
        # Changes since the last sync: their number in the journal, the offset, and the bytes; or the size and None.
        self.pending = []

    def sync(self, covers):
        for number, at, data in self.pending:
            if number < covers:
                apply(self.durable, at, data)
        self.drop(covers)

    def drop(self, covers):
        """A sync that failed: the kernel calls these pages clean, so no later sync writes them."""
        self.pending = [one for one in self.pending if one[0] >= covers]


def apply(content, at, data):
    if data is None:
        del content[at:]
        content.extend(bytes(max(0, at - len(content))))
        return
    content.extend(bytes(max(0, at - len(content))))
    content[at:at + len(data)] = data


class Disk:
    """A folder's files as they are on the disk, and what is on its way there."""

    def __init__(self, folder):
        self.folder, self.files, self.names, self.pending_names, self.folders = folder, {}, {}, [], set()
        # A name that is not synced yet still leads to its file.
        self.inodes = {}
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            inode = os.stat(path).st_ino
            with open(path, "rb") as file:
                self.files[inode] = File(file.read())
            self.names[path] = inode
        self.unsynced = 0

    def replay(self, journal):
        with open(journal, "rb") as file:
            data = file.read()
        at, number, source = 0, 0, None
        while at + HEAD.size <= len(data):
            what, inode, a, b, size = HEAD.unpack_from(data, at)
            at += HEAD.size
            if at + size > len(data):
                break
            body, at = data[at:at + size], at + size
            if what == OPENED:
                path = os.path.normpath(body.decode())
                if b:
                    self.folders.add(inode)
                elif inode not in self.files or a:
                    # An inode may have been another file's before.
                    self.files[inode] = File()
                    self.pending_names.append((number, path, inode))
            elif what == WRITTEN and inode in self.files:
                self.files[inode].pending.append((number, a, body))
            elif what == CUT and inode in self.files:
                self.files[inode].pending.append((number, a, None))
            elif what == SYNCED and inode in self.folders:
                if a:
                    self.sync_names(b)
            elif what == SYNCED and inode in self.files:
                (self.files[inode].sync if a else self.files[inode].drop)(b)
            elif what == UNLINKED:
                self.pending_names.append((number, os.path.normpath(body.decode()), None))
            elif what == RENAMED:
                path = os.path.normpath(body.decode())
                if a == 0:
                    source = path
                else:
                    self.pending_names.append((number, path, self.leads_to(source)))
                    self.pending_names.append((number, source, None))
            number += 1

    def leads_to(self, path):
        return next((inode for _, name, inode in reversed(self.pending_names) if name == path), self.names.get(path))

    def sync_names(self, covers):
        for number, path, inode in self.pending_names:
            if number < covers:
                self.names[path] = inode
        self.pending_names = [one for one in self.pending_names if one[0] >= covers]

    def write(self, kind, chance):
        """Puts the folder back. `synced`: no more than that. `torn`: of each file's other changes the first ones, the last of
        them in part. `any`: any sectors of them. Returns how many changes were not synced."""
        count = sum(len(one.pending) for one in self.files.values())
        if kind != "synced":
            self.sync_names(chance.choice([0, 1 << 62]))
        for path in list(os.listdir(self.folder)):
            os.remove(f"{self.folder}/{path}")
        for path, inode in self.names.items():
            if inode is None or path.endswith("-shm"):
                continue
            one = self.files[inode]
            content = bytearray(one.durable)
            keep = {"synced": none_of, "torn": torn, "any": sectors}[kind]
            for at, data in keep(one.pending, chance):
                apply(content, at, data)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, 0o600)
            if path.endswith(".sqlite") and chance.random() < 0.5:
                # The index of the log is shared memory: what is left of it means nothing.
                with open(path + "-shm", "wb") as file:
                    file.write(random.randbytes(32768))
        return count


def none_of(pending, chance):
    return []


def torn(pending, chance):
    count = chance.randint(0, len(pending))
    out = [(at, data) for _, at, data in pending[:count]]
    if out and out[-1][1]:
        at, data = out[-1]
        ends = [end for end in range(at - at % SECTOR + SECTOR, at + len(data), SECTOR)]
        if ends:
            out[-1] = (at, data[:chance.choice(ends) - at])
    return out


def sectors(pending, chance):
    out = []
    for _, at, data in pending:
        if data is None:
            if chance.random() < 0.5:
                out.append((at, None))
            continue
        start = at
        while start < at + len(data):
            end = min(at + len(data), start - start % SECTOR + SECTOR)
            if chance.random() < 0.5:
                out.append((start, data[start - at:end - at]))
            start = end
    return out
