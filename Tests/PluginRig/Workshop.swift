import Foundation

/// Where tests put what they make; it goes away with the process.
package enum Workshop {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Workshop.root) }
        let root = FileManager.default.temporaryDirectory.appending(
            path: "signalbox-tests-\(UUID().uuidString.prefix(8))")
        // Whoever makes something in it hears what is wrong.
        try? FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        return root
    }()

    /// A path at which there is nothing so far.
    package static func place() -> URL { root.appending(path: UUID().uuidString) }

    /// A new folder; `name` helps people who look into it.
    package static func folder(_ name: String = "folder") throws -> URL {
        let folder = root.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
