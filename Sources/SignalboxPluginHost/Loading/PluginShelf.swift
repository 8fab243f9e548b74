internal import Synchronization

/// The libraries that this process has loaded, by file.
///
/// Process-wide, because a library cannot be unloaded: it is reused as long as its file is unchanged, and a
/// changed file is loaded next to the old image.
enum PluginShelf {
    private struct Key: Hashable {
        var path: String
        var version: PluginFile.Version
        var sha256: String?
    }

    private static let loaded = Mutex<[Key: PluginLibrary]>([:])

    /// The library in the current version of a file.
    ///
    /// A library that was loaded before is not loaded again. Blocks while the library is loaded.
    static func load(
        _ path: String, sha256: String? = nil
    ) throws(LoadFault) -> PluginLibrary {
        let file = try PluginFile(path, sha256: sha256)
        let key = Key(path: path, version: file.version, sha256: file.sha256)
        if let known = loaded.withLock({ $0[key] }) { return known }
        let library = try PluginLibrary.load(file)
        return loaded.withLock { shelf in
            // If two threads loaded it at once, the first one counts.
            if let first = shelf[key] { return first }
            shelf[key] = library
            return library
        }
    }
}
