internal import Glibc
package import SignalboxConfig
internal import Synchronization

/// The files a configuration was last read from: gateway.yaml and those named by `${file:...}`.
///
/// A file is identified by what its path resolves to, whatever is renamed or linked on the way.
package final class ReadFiles: Sendable {
    /// Identifies a version of a file's content.
    package struct Mark: Sendable, Equatable {
        var device: UInt
        var number: UInt
        var bytes: Int
        var changedNs: Int
        var statusNs: Int

        /// nil if there is no file.
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

    /// The environment, recording each file that is read.
    package func noting(_ environment: ConfigEnvironment) -> ConfigEnvironment {
        var environment = environment
        let read = environment.readFile
        environment.readFile = { path in
            // Marked before it is read, so that a change in between is noticed.
            let mark = Mark(path)
            self.known.withLock { $0[path] = .some(mark) }
            return read(path)
        }
        return environment
    }

    /// A configuration is about to be read.
    package func begin() { known.withLock { $0 = [:] } }

    /// The marks when the files were read.
    var then: [String: Mark?] { known.withLock { $0 } }

    /// The current marks.
    package var now: [String: Mark?] {
        then.keys.reduce(into: [:]) { $0[$1] = .some(Mark($1)) }
    }
}
