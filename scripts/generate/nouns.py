"""The nouns of model.h: how a C struct is named in Swift and Rust, and what its members mean there.

Names follow from the header: `image_url` is `imageURL` in Swift, the flag SBX_N_SILENT is `isSilent`. The tables
hold what the header cannot say."""

import re
import textwrap
from dataclasses import dataclass

ACRONYMS = {"url": "URL", "id": "ID"}
# Flags and members with irregular names.
NAMES = {"SBX_N_WITHDRAW": "is_withdrawn"}
# Numbers with a few named values; 0: not given.
ENUMS = {("sbx_notification", "priority"): "Priority"}
# Pairs that are more than a name with a value: their types in the core and in the kit.
PAIRS = {("sbx_notification", "overrides"): ("PayloadOverride", "(family: String, json: String)")}
# Never logged.
SECRETS = {"token", "source_token", "new_token"}


@dataclass
class Part:
    """One member of a noun. Kinds: flag, text, number, optional, enum, pairs, noun, list.

    `field` is its number in records: its place among the members of its struct; flags share one."""

    kind: str
    name: str
    doc: str
    type: str = ""  # of a number in C, of an enum or of pairs in the core
    kit: str = ""  # of pairs in the kit
    flag: str = ""
    count: str = ""  # the member that counts pairs
    bit: int = 0  # of a flag
    field: int = 0

    @property
    def swift(self):
        first, *rest = self.name.split("_")
        return first + "".join(ACRONYMS.get(word, word.capitalize()) for word in rest)

    @property
    def swift_type(self):
        return {
            "flag": "Bool", "text": "String", "optional": "Int32?", "enum": f"{self.type}?",
            "pairs": f"[{self.type}]", "noun": self.type, "list": f"[{self.type}]", "number": {"uint64_t": "UInt64", "uint32_t": "UInt32"}.get(self.type),
        }[self.kind]

    @property
    def swift_default(self):
        return {
            "flag": " = false", "text": ' = ""', "optional": ": Int32?", "enum": f": {self.type}?",
            "pairs": f": [{self.type}] = []", "number": f": {self.swift_type} = 0",
        }[self.kind]


# What the core keeps with a noun and no plugin sees.
OWN = {
    "sbx_device": [
        Part("number", "registration", "Which registration it is, a number that no other one gets; 0: the token came with the event.\n\nNo plugin sees it.", "uint64_t", field=31)
    ]
}


class Noun:
    """A struct of the contract as a value in Swift and Rust."""

    def __init__(self, header, c_name, swift, doc, prefix=""):
        self.c_name, self.swift, self.doc, self.prefix = c_name, swift, doc, prefix
        # Foundation has a Notification, so only Swift needs the prefix.
        self.rust = swift.removeprefix("Push")
        struct, flags = header.structs[c_name], []
        for name, (value, doc) in header.constants.items():
            if prefix and name.startswith(prefix):
                own = NAMES.get(name, "is_" + name[len(prefix):].lower())
                flags.append(Part("flag", own, sentence(doc), flag=name, bit=int(value.rstrip("u"))))
        given = {flag.flag[len(prefix):].lower(): flag for flag in flags}
        self.parts = [flag for name, flag in given.items() if name not in {f.name for f in struct.fields}]
        for one in struct.fields:
            if one.name in ("struct_size", "reserved", "flags") or re.search(r"_(count|stride)$", one.name):
                continue
            part = self.part(one, given.get(one.name))
            part.field = len([own for own in self.parts if own.kind != "flag"]) + bool(prefix)
            self.parts.append(part)
        # What the host alone knows, numbered from the end of a record's 32 fields: the contract's members never get there.
        self.own = OWN.get(c_name, [])
        assert len(self.parts) + len(self.own) <= 32, c_name

    def part(self, one, flag):
        doc = sentence(one.doc)
        if one.name in SECRETS:
            doc += "\n\nNever logged."
        if flag:
            return Part("optional", one.name, doc + " nil: not given.", one.type, flag=flag.flag)
        if name := ENUMS.get((self.c_name, one.name)):
            return Part("enum", one.name, sentence(re.sub(r"^SBX_\w+\*; 0:", "nil:", one.doc)), name)
        if one.type == "sbx_str":
            return Part("text", one.name, doc)
        if one.type == "const sbx_kv *":
            own, kit = PAIRS.get((self.c_name, one.name), ("Attribute", "(String, String)"))
            return Part("pairs", one.name, doc, own, kit, count=one.name.removesuffix("s") + "_count")
        if found := re.fullmatch(r"const (sbx_\w+) \*", one.type):
            return Part("list" if one.name.endswith("s") else "noun", one.name, doc, found[1].removeprefix("sbx_").capitalize())
        return Part("number", one.name, doc, one.type)

    def of(self, *kinds):
        return [part for part in self.parts if part.kind in kinds]


def sentence(text):
    """The first sentence of a comment, as documentation writes it."""
    text = re.split(r"(?<=[^.])\. |(?<=[^.])\.$", text)[0]
    return (text if text.startswith("nil") else text[:1].upper() + text[1:]) + "."


def documented(doc, indent, mark="///"):
    """Lines of documentation."""
    for paragraph in doc.replace('"', "`").split("\n"):
        for line in textwrap.wrap(paragraph, 100 - len(indent) - len(mark) - 1) or [""]:
            yield f"{indent}{mark} {line}".rstrip()


def nouns(header):
    """Those whose structs and conversions are generated."""
    return [
        Noun(header, "sbx_device", "Device", "One installation of one app; empty text: not given."),
        Noun(header, "sbx_notification", "PushNotification", "Neutral content, known to every sender; empty text: not given.", "SBX_N_"),
    ]


def recorded(header):
    """Those that are generated as records alone."""
    return [
        Noun(header, "sbx_recipient", "Recipient", ""),
        Noun(header, "sbx_event", "Event", ""),
    ]
