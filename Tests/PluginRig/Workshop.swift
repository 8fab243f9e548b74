import Foundation

/// A folder for the tests' files, removed when the process ends.
package enum Workshop {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Workshop.root) }
        let root = FileManager.default.temporaryDirectory.appending(
            path: "signalbox-tests-\(UUID().uuidString.prefix(8))")
        // A failure shows up when a test creates something in the folder.
        try? FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        return root
    }()

    /// A path where nothing exists yet.
    package static func place() -> URL { root.appending(path: UUID().uuidString) }

    /// A new folder; `name` helps people who look for it.
    package static func folder(_ name: String = "folder") throws -> URL {
        let folder = root.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
