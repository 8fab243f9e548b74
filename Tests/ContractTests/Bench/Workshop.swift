import Foundation

/// Where tests put what they make; it goes away with the process.
enum Workshop {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Workshop.root) }
        return FileManager.default.temporaryDirectory.appending(
            path: "signalbox-contract-\(UUID().uuidString)")
    }()

    /// A new folder.
    static func folder(_ name: String) throws -> URL {
        let folder = root.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
