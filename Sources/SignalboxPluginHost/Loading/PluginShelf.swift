internal import Synchronization

/// The libraries that this process has loaded, by file.
///
/// Process-wide, because a library cannot be unloaded: it is reused as long as its file is unchanged, and a
/// changed file is loaded next to the old image.
enum PluginShelf {
    private static let loaded = Mutex<[String: [PluginFile.Version: PluginLibrary]]>([:])

    /// The library in the current version of a file.
    ///
    /// A library that was loaded before is not loaded again. Blocks while the library is loaded.
    static func load(_ path: String) throws(LoadFault) -> PluginLibrary {
        let file = try PluginFile(path)
        let version = file.version
        if let known = loaded.withLock({ $0[path]?[version] }) { return known }
        let library = try PluginLibrary.load(file)
        return loaded.withLock { shelf in
            // If two threads loaded it at once, the first one counts.
            if let first = shelf[path]?[version] { return first }
            shelf[path, default: [:]][version] = library
            return library
        }
    }
}
