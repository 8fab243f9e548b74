import Foundation
import Testing

/// The repository as files.
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
}
