import Foundation
import PluginRig
import Synchronization
import Testing

/// A set of headers that plugins and hosts in C are compiled against.
enum Edition: Sendable, Hashable, CustomTestStringConvertible {
    case release(String)
    case current
    /// The current headers with a higher minor, in which every struct that may grow has grown.
    case next

    static let all = Releases.versions.map { Edition.release($0) } + [.current, .next]

    var isNext: Bool { self == .next }

    var testDescription: String {
        switch self {
        case .release(let version): "\(version) as released"
        case .current: "current"
        case .next: "next minor"
        }
    }

    func headers() async throws -> Headers {
        switch self {
        case .release(let version): Releases.headers(version)
        case .current: .current
        case .next: try await Headers.next.value
        }
    }

    /// Tests/ContractTests/Plugins/Contract as a library.
    func plugin(_ flags: String...) async throws -> String {
        try await Compiled.made(
            from: "Plugins/Contract", self, flags, ["-shared", "-fPIC", "-fvisibility=hidden"])
    }

    /// Tests/ContractTests/Hosts as a program.
    func host(_ flags: String...) async throws -> String {
        try await Compiled.made(from: "Hosts", self, flags, ["-ldl"])
    }
}

/// Caches compiled files, so that each is compiled once.
private enum Compiled {
    private struct Key: Hashable {
        var folder: String
        var edition: Edition
        var flags: [String]
    }

    private static let known = Mutex<[Key: Task<String, any Error>]>([:])

    static func made(
        from name: String, _ edition: Edition, _ flags: [String], _ more: [String]
    ) async throws -> String {
        let key = Key(folder: name, edition: edition, flags: flags)
        let task = known.withLock { known in
            let task = known[key] ?? Task { try await make(key, more) }
            known[key] = task
            return task
        }
        return try await task.value
    }

    private static func make(_ key: Key, _ more: [String]) async throws -> String {
        let folder = PluginRig.root.appending(path: "Tests/ContractTests/\(key.folder)")
        let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".c") }.sorted()
        let name = folder.lastPathComponent
        let file = try Workshop.folder(name).appending(path: "lib\(name).so").path
        let include = try await key.edition.headers().folder.path
        _ = try await Tool.output(
            [
                "cc", "-std=c11", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                "-I\(include)", "-o", file,
            ] + key.flags + sources.map { folder.appending(path: $0).path } + more)
        return file
    }
}
