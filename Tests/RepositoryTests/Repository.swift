import Foundation
import Testing

/// The files of the repository.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Paths of files in a folder with one of these endings, relative to the root.
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
