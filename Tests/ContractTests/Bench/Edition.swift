import Foundation
import PluginBench
import Synchronization
import Testing

/// A set of headers that plugins and hosts in C are compiled against.
enum Edition: Sendable, Hashable, CustomTestStringConvertible {
    case release(String)
    case current
    /// Made out of the current one: a higher minor, every struct that may grow has grown.
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

    func headers() throws -> Headers {
        switch self {
        case .release(let version): Releases.headers(version)
        case .current: .current
        case .next: try Headers.next.get()
        }
    }

    /// Tests/ContractTests/Plugins as a library.
    func plugin(_ flags: String...) throws -> String {
        try Compiled.made(
            from: "Plugins", self, flags, ["-shared", "-fPIC", "-fvisibility=hidden"])
    }

    /// Tests/ContractTests/Short as a library.
    func short() throws -> String {
        try Compiled.made(from: "Short", self, [], ["-shared", "-fPIC", "-fvisibility=hidden"])
    }

    /// Tests/ContractTests/Hosts as a program.
    func host(_ flags: String...) throws -> String {
        try Compiled.made(from: "Hosts", self, flags, ["-ldl"])
    }
}

/// What was compiled already, so that each is compiled once.
private enum Compiled {
    private struct Key: Hashable {
        var folder: String
        var edition: Edition
        var flags: [String]
    }

    private static let known = Mutex<[Key: String]>([:])

    static func made(
        from name: String, _ edition: Edition, _ flags: [String], _ more: [String]
    ) throws -> String {
        let key = Key(folder: name, edition: edition, flags: flags)
        if let known = known.withLock({ $0[key] }) { return known }
        let folder = PluginBench.root.appending(path: "Tests/ContractTests/\(name)")
        let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".c") }.sorted()
        // The file's own permissions matter to the host: nobody else may write it.
        let file = try Workshop.folder(name).appending(path: "lib\(name).so").path
        _ = try Tool.output(
            [
                "cc", "-std=c11", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                "-I\(edition.headers().folder.path)", "-o", file,
            ] + flags + sources.map { folder.appending(path: $0).path } + more)
        known.withLock { $0[key] = file }
        return file
    }
}
