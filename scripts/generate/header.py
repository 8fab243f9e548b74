"""Reads the contract's C headers, as far as they use the language."""

import re
from dataclasses import dataclass, field

SIZES = {"uint32_t": 4, "int32_t": 4, "sbx_status": 4, "uint64_t": 8, "int64_t": 8, "size_t": 8, "sbx_str": 16}

# What comments say of threads.
THREADS = {"inside refresh": "refresh", "role call": "call", "[control]": "control"}


@dataclass
class Field:
    """A member of a struct: `type` is the C type, "function" for a pointer to one.

    `doc` is the comment behind it, or that before a function."""

    name: str
    type: str
    doc: str = ""
    since: int = 0
    length: int = 0  # of an array inside the struct
    code: str = ""  # of a pointer to a function: its declaration

    @property
    def parameters(self):
        """The names of a function's parameters."""
        return [re.search(r"\(\*(\w+)\)|(\w+)$", one)[0].strip("(*)") for one in separated(re.match(r".*?\(\*\w+\)\((.*)\)$", self.code)[1])]

    @property
    def result(self):
        return re.match(r"(.*?) ?\(\*", self.code)[1]

    @property
    def thread(self):
        """From where a plugin may call a function; None if its comment does not say."""
        said = re.findall(r"Thread: ([^.]*)", self.doc)
        if not said:
            return None
        return next((name for word, name in THREADS.items() if word in said[-1]), "any")

    @property
    def is_pointer(self):
        return self.type.endswith("*") or self.type == "function"

    @property
    def size(self):
        return (8 if self.is_pointer else SIZES.get(self.type, 1)) * (self.length or 1)

    @property
    def alignment(self):
        return 8 if self.is_pointer or self.type == "sbx_str" else SIZES.get(self.type, 1)


@dataclass
class Struct:
    name: str
    fields: list = field(default_factory=list)

    def size(self, minor):
        """`sizeof` it in contract 1.`minor`."""
        end = 0
        for one in self.fields:
            if one.since <= minor:
                end = -(-end // one.alignment) * one.alignment + one.size
        return -(-end // 8) * 8 if any(f.alignment == 8 for f in self.fields) else end

    def of(self, type):
        return [one for one in self.fields if one.type == type]

    def __getitem__(self, name):
        return next(f for f in self.fields if f.name == name)


class Header:
    """Structs, constants with their value and comment, types of functions with their declaration, other types, and the
    table of each service by its constant."""

    def __init__(self, *paths):
        self.structs, self.constants, self.functions, self.types, self.services = {}, {}, {}, {}, {}
        for path in paths:
            text = path.read_text()
            for name, value, doc in re.findall(r"#define (SBX_\w+) +(\S+)[ \t]*(/\*.*?\*/)?", text, re.S):
                self.constants[name] = (value, plain(doc))
            for name, body in re.findall(r"typedef struct (sbx_\w+) \{\n(.*?)\n\} \1;", text, re.S):
                self.structs[name] = Struct(name, list(members(body)))
            for code, name in re.findall(r"typedef ([^;{]*?\(\*(sbx_\w+)\)\([^;]*\));", text):
                self.functions[name] = " ".join(code.split())
            self.types |= {name: kind for kind, name in re.findall(r"typedef (\w+(?: sbx_\w+)?) (sbx_\w+);", text)}
            self.services |= re.findall(r"#define (SBX_SVC_\w+) .*?typedef struct (sbx_\w+) \{", text, re.S)


def members(body):
    """The declarations of a struct, each with the comment that follows it."""
    for code, comment in re.findall(r"((?:[^;/]|/\*.*?\*/)+);[ \t]*(/\*.*?\*/)?", body, re.S):
        before = "".join(re.findall(r"/\*.*?\*/", code, re.S))
        code = " ".join(re.sub(r"/\*.*?\*/", "", code, flags=re.S).split())
        doc = plain(comment or before if "(*" in code else comment)
        since = int(found[1]) if (found := re.search(r"Since 1\.(\d+)$", doc)) else 0
        doc = re.sub(r"\.? ?Since 1\.\d+$", "", doc)
        if pointer := re.match(r".*?\(\*(\w+)\)", code):
            yield Field(pointer[1], "function", doc, since, code=code)
            continue
        words, names = re.match(r"((?:const )?(?:struct )?\w+) (.*)", code).groups()
        for name in names.split(","):
            kind, name = words, name.strip()
            while name.startswith("*"):
                kind, name = kind + " *", name[1:].strip()
                if name.startswith("const "):
                    kind, name = kind + " const", name.removeprefix("const ").strip()
            found = re.match(r"(\w+)(?:\[(\d+)\])?$", name)
            yield Field(found[1], kind.replace("struct ", ""), doc, since, int(found[2] or 0))


def separated(code):
    """Declarations between commas, as far as those are not inside parentheses."""
    depth, start = 0, 0
    for index, character in enumerate(code + ","):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield code[start:index].strip()
            start = index + 1


def plain(comment):
    """A comment as one line."""
    return " ".join(re.sub(r"^/\*+|\*/$|^\s*\*", "", comment or "", flags=re.M).split())
