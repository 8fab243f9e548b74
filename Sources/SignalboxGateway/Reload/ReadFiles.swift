internal import Glibc
package import SignalboxConfig
internal import Synchronization

/// The files that a configuration was last read from: gateway.yaml, and those that it names as `${file:...}`.
///
/// A file is known by what its path leads to, whatever is renamed or linked on the way.
package final class ReadFiles: Sendable {
    /// Tells one content of a path from another.
    package struct Mark: Sendable, Equatable {
        var device: UInt
        var number: UInt
        var bytes: Int
        var changedNs: Int
        var statusNs: Int

        /// nil: there is no file.
        init?(_ path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return nil }
            device = facts.st_dev
            number = facts.st_ino
            bytes = facts.st_size
            changedNs = facts.st_mtim.tv_sec &* 1_000_000_000 &+ facts.st_mtim.tv_nsec
            statusNs = facts.st_ctim.tv_sec &* 1_000_000_000 &+ facts.st_ctim.tv_nsec
        }
    }

    private let known = Mutex<[String: Mark?]>([:])

    package init() {}

    /// The environment, with a note of each file that is read.
    package func noting(_ environment: ConfigEnvironment) -> ConfigEnvironment {
        var environment = environment
        let read = environment.readFile
        environment.readFile = { path in
            // Before it is read: a change in between is found later.
            let mark = Mark(path)
            self.known.withLock { $0[path] = .some(mark) }
            return read(path)
        }
        return environment
    }

    /// A configuration is about to be read.
    package func begin() { known.withLock { $0 = [:] } }

    /// As they were when they were read.
    var then: [String: Mark?] { known.withLock { $0 } }

    /// As they are.
    package var now: [String: Mark?] {
        then.keys.reduce(into: [:]) { $0[$1] = .some(Mark($1)) }
    }
}
