/// How far the process of an isolated plugin is confined.
public enum Confinement: String, Sendable {
    /// Its crashes are contained, not its malice: it has the gateway's user, files and network.
    case process
    /// It has no network, reads little, writes nothing, and makes few system calls.
    case sandbox
}

/// One thing that confines a process.
///
/// Tests leave some out to show what each is good for.
package enum Protection: String, CaseIterable, Sendable {
    /// What the gateway does when it starts the process.
    case environment, descriptors
    /// What the process does to itself, for every confinement.
    case limits, privileges, capabilities, dumps
    /// Landlock; without a sandbox it only keeps the process from looking into others.
    case landlock
    /// What only a sandbox has.
    case namespaces, seccomp
}

/// What the gateway tells a process of itself, on standard input, before any thread of it runs.
struct ConfinementPlan: Sendable, Equatable {
    private static let mark = "signalbox-confinement"

    var confinement = Confinement.process
    /// The library, if its folder must be readable.
    var library = ""
    /// Files that the plugin reads itself.
    var files: [String] = []
    /// What is left out.
    var omitted: Set<Protection> = []

    /// As written to standard input.
    var bytes: [UInt8] {
        let left = omitted.map(\.rawValue).sorted().joined(separator: ",")
        return Array(
            ([Self.mark, confinement.rawValue, left, library] + files)
                .joined(separator: "\0").utf8)
    }

    init() {}

    /// Nil if these are other bytes.
    init?(bytes: [UInt8]) {
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: "\0", omittingEmptySubsequences: false
        ).map(String.init)
        guard parts.count >= 4, parts[0] == Self.mark,
            let confinement = Confinement(rawValue: parts[1])
        else { return nil }
        self.confinement = confinement
        omitted = Set(parts[2].split(separator: ",").compactMap { Protection(rawValue: "\($0)") })
        library = parts[3]
        files = Array(parts[4...])
    }

    func has(_ protection: Protection) -> Bool { !omitted.contains(protection) }
}
