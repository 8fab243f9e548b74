import Foundation
import Testing

/// The repository as files, and the tools that tests run on it.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Paths below a folder, relative to the root, with one of these endings.
    static func files(under folder: String, endings: [String]) -> [String] {
        let base = root.appending(path: folder)
        let paths = FileManager.default.enumerator(atPath: base.path)?.allObjects as? [String] ?? []
        return paths.filter { path in endings.contains { path.hasSuffix($0) } }
            .map { "\(folder)/\($0)" }.sorted()
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Runs a program at the root; its output, both streams together, and its exit status.
    static func run(_ arguments: [String]) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = root
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: output, as: UTF8.self), process.terminationStatus)
    }

    /// The folder the package was built into, which also holds the plugins.
    static var buildFolder: URL {
        let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        var folder = executable.deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.fileExists(atPath: folder.appending(path: "libAPNs.so").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.path == "/" ? root.appending(path: ".build/debug") : folder
    }
}
