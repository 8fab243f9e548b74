internal import Glibc

/// The part of the gateway's environment that a plugin's process gets: what programs need to run at all,
/// and none of the secrets that may be there.
enum RunnerEnvironment {
    private static let names: Set = [
        "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "SWIFT_BACKTRACE",
        "LD_LIBRARY_PATH", "LD_PRELOAD",
    ]

    static var entries: [String] {
        var out = all.filter { entry in
            let name = entry.prefix { $0 != "=" as Character }
            return names.contains(String(name)) || name.hasPrefix("LC_")
                || name.hasSuffix("SAN_OPTIONS")
        }
        // A backtrace takes longer than a restart, so it is off unless SWIFT_BACKTRACE asks for it.
        if !out.contains(where: { $0.hasPrefix("SWIFT_BACKTRACE=") }) {
            out.append("SWIFT_BACKTRACE=enable=no")
        }
        return out
    }

    /// Everything that this process has.
    static var all: [String] {
        var out: [String] = []
        var next = environ
        while let entry = next.pointee {
            out.append(String(cString: entry))
            next += 1
        }
        return out
    }
}
