internal import Synchronization

/// The libraries that this process has loaded, by file.
///
/// Process-wide, as a library cannot be unloaded: one that was loaded is used again as long as its file is the
/// same, and a file that has changed is loaded beside the old image.
enum PluginShelf {
    private static let loaded = Mutex<[String: [PluginFile.Version: PluginLibrary]]>([:])

    /// The library in a file as it is now.
    ///
    /// One that was loaded before is not loaded again. Blocks while the library is loaded.
    static func load(_ path: String) throws(LoadFault) -> PluginLibrary {
        let file = try PluginFile(path)
        let version = file.version
        if let known = loaded.withLock({ $0[path]?[version] }) { return known }
        let library = try PluginLibrary.load(file)
        return loaded.withLock { shelf in
            // Loaded twice at once: the first one counts.
            if let first = shelf[path]?[version] { return first }
            shelf[path, default: [:]][version] = library
            return library
        }
    }
}
