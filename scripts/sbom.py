#!/usr/bin/env python3
"""Writes what a build consists of as SPDX 2.3, to standard output.

scripts/sbom.py BUILD_FOLDER VERSION: the folder of a finished build, such as .build/release
"""
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]

licences = {}
for line in (root / "docs/dependencies.md").read_text().splitlines():
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if line.startswith("| ") and len(cells) == 3 and cells[0] != "package" and not cells[0].startswith("---"):
        licences[cells[0]] = cells[1]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def swift_packages():
    places = [place / "workspace-state.json" for place in folder.parents]
    state = json.loads(next(place for place in places if place.exists()).read_text())
    for dependency in state["object"]["dependencies"]:
        reference = dependency["packageRef"]
        checkout = dependency["state"].get("checkoutState", {})
        yield reference["identity"], checkout.get("version", "NOASSERTION"), reference["location"]


def debian_packages():
    """The packages that own the libraries of the program, its library and its plugins."""
    files = set()
    for program in [folder / "signalbox", *folder.glob("*.so")]:
        files.update(re.findall(r"=> (/\S+)", output("ldd", str(program))))
    names = set()
    for file in files:
        # dpkg knows a file by the path of its package, which may be older than the merge of /lib into /usr/lib.
        path = str(pathlib.Path(file).resolve())
        for known in {file, path, path.removeprefix("/usr")}:
            owner = subprocess.run(["dpkg", "-S", known], capture_output=True, text=True).stdout
            names.update(line.split(":")[0] for line in owner.splitlines())
    for name in sorted(names):
        yield name, output("dpkg-query", "-W", "-f=${Version}", name), f"pkg:deb/debian/{name}"


def package(name, version, location):
    mark = hashlib.sha256(name.encode()).hexdigest()[:12]
    return {
        "SPDXID": f"SPDXRef-{mark}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": location if location.startswith("http") else "NOASSERTION",
        "licenseConcluded": licences.get(name, "NOASSERTION"),
        "licenseDeclared": licences.get(name, "NOASSERTION"),
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
    }


parts = [package(*found) for found in [*swift_packages(), *debian_packages()]]
missing = sorted(set(licences) - {part["name"] for part in parts})
if missing:
    sys.exit(f"sbom: docs/dependencies.md names what the build does not have: {', '.join(missing)}")
own = package("signalbox", version, "")
own["licenseConcluded"] = own["licenseDeclared"] = "Apache-2.0"
document = {
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"signalbox-{version}",
    "documentNamespace": f"https://signalbox.invalid/spdx/{version}/"
    + hashlib.sha256(json.dumps(parts).encode()).hexdigest(),
    "creationInfo": {
        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "creators": ["Tool: scripts/sbom.py"],
    },
    "packages": [own, *parts],
    "relationships": [
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]},
        *(
            {"spdxElementId": own["SPDXID"], "relationshipType": "DEPENDS_ON", "relatedSpdxElement": part["SPDXID"]}
            for part in parts
        ),
    ],
}
json.dump(document, sys.stdout, indent=1)
print()
