"""Writes every file that follows from the contract's headers; with --check it says which are not current."""

import sys
from pathlib import Path

import rust
import swift
from header import Header
from nouns import nouns, recorded

# Structs that plugins pass to the host.
FROM_PLUGINS = """plugin ingest build send_http send register source observe filter ingest_path event recipient device change notification
target endpoint http_request outcome http_call error fit_request crypto_key filter_part"""
# Structs that the host passes to plugins, in arrays or by a pointer.
TO_PLUGINS = "device recipient event notification delivery change http_response request build_input filter_input"

# Files of the Rust kit, each with its headers.
RUST = {"base": "types.h model.h plugin.h", "role": "role/*.h", "service": "service/*.h"}


def outputs(root):
    include = root / "include/signalbox"
    header = Header(*(path for path in sorted(include.rglob("*.h")) if path.name not in ("gateway.h", "kit.h")))
    device, notification = both = nouns(header)
    names = lambda words: [f"sbx_{word}" for word in words.split()]
    yield "Sources/SignalboxCore/Model/Device+generated.swift", swift.core_device(device)
    yield "Sources/SignalboxCore/Model/PushNotification+generated.swift", swift.core_notification(notification)
    yield "Sources/SignalboxCore/Records/Nouns+generated.swift", swift.records(both + recorded(header))
    yield "Sources/SignalboxPluginHost/Roles/Nouns+generated.swift", swift.host(both)
    yield "Sources/SignalboxPluginHost/Memory/StructSizes+generated.swift", swift.struct_sizes(header, names(FROM_PLUGINS))
    yield "Sources/SignalboxPluginHost/Roles/HostSink+generated.swift", swift.sink_structs(header)
    yield "Sources/SignalboxPluginKit/Device+generated.swift", swift.kit(device)
    yield "Sources/SignalboxPluginKit/PushNotification+generated.swift", swift.kit(notification)
    yield "Sources/SignalboxPluginKit/ServiceTables+generated.swift", swift.services(header)
    yield "Sources/SignalboxConformance/Calls/ProbedServices+generated.swift", swift.probes(header)
    yield "Sources/SignalboxConformance/Calls/SinkProbe+generated.swift", swift.sinks(header)
    yield "Sources/SignalboxConformance/Calls/Shaper+generated.swift", swift.shaper(header, names(TO_PLUGINS))
    for name, parts in RUST.items():
        paths = [path for part in parts.split() for path in sorted(include.glob(part))]
        yield f"Sources/RustPluginKit/src/sys/{name}.rs", rust.sys(Header(*paths), f"`{parts}`.")
    yield "Sources/RustPluginKit/src/sys/services.rs", rust.services(header)
    yield "Sources/RustPluginKit/src/model/nouns+generated.rs", rust.model(both)


def main(root, is_check):
    stale = []
    for path, text in outputs(root):
        file = root / path
        if file.exists() and file.read_text() == text:
            continue
        stale.append(path)
        if not is_check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    for path in stale:
        print(f"{path} is not what include/ says; run scripts/generate.sh" if is_check else f"wrote {path}")
    return 1 if stale and is_check else 0


sys.exit(main(Path(__file__).resolve().parents[2], sys.argv[1:] == ["--check"]))
