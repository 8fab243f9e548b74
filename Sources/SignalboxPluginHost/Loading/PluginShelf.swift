internal import Glibc
internal import Synchronization

/// The libraries that this process has loaded, by file.
///
/// Process-wide, like the loader's own list that it mirrors: a library cannot be unloaded, and asking
/// for a path again gives the image of before, also if the file is another one by now. So a file that
/// has changed is copied, and the copy is loaded beside the old image.
public enum PluginShelf {
    /// What makes a file another one.
    struct Version: Hashable {
        var device: UInt64
        var inode: UInt64
        var bytes: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private static let loaded = Mutex<[String: [Version: PluginLibrary]]>([:])
    private static let count = Atomic<Int>(0)

    /// The library in a file as it is now; copies are made in `folder`.
    ///
    /// One that was loaded before is not loaded again. Blocks while the library is loaded.
    public static func load(
        _ path: String, copiesIn folder: String
    ) throws(LoadFault) -> PluginLibrary {
        guard let version = version(of: path) else {
            throw LoadFault("plugin-not-found", "there is no file \(path)")
        }
        let known = loaded.withLock { $0[path] ?? [:] }
        if let library = known[version] { return library }
        let library: PluginLibrary
        if known.isEmpty {
            library = try PluginLibrary.load(path)
        } else {
            library = try PluginLibrary.load(try copy(path, to: folder), of: path)
        }
        return loaded.withLock { shelf in
            // Loaded twice at once: the first one counts.
            if let first = shelf[path]?[version] { return first }
            shelf[path, default: [:]][version] = library
            return library
        }
    }

    static func version(of path: String) -> Version? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        return Version(
            device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino),
            bytes: Int64(facts.st_size), seconds: facts.st_mtim.tv_sec,
            nanoseconds: facts.st_mtim.tv_nsec)
    }

    /// A copy under a name that was never used, readable by nobody else.
    private static func copy(_ path: String, to folder: String) throws(LoadFault) -> String {
        try FileRules.check(path)
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        let name = path.split(separator: "/").last.map(String.init) ?? "plugin"
        mkdir(folder, 0o700)
        // Libraries are loaded by absolute path alone.
        let place = PluginSearchPath.absolute(folder) ?? folder
        let target = "\(place)/\(getpid())-\(number)-\(name)"
        func fault(_ what: String) -> LoadFault {
            LoadFault(
                "plugin-not-loadable",
                "\(path) has changed, and \(what) \(target): \(String(cString: strerror(errno)))")
        }
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw fault("it cannot be read to make the copy") }
        defer { close(source) }
        let sink = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o500)
        guard sink >= 0 else { throw fault("there can be no copy") }
        defer { close(sink) }
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            let count = read(source, &chunk, chunk.count)
            if count == 0 { return target }
            guard count > 0, write(sink, chunk, count) == count else {
                unlink(target)
                throw fault("there can be no copy")
            }
        }
    }

    /// Takes the file of a copy away: the loaded image lives on without it.
    static func forget(_ target: String) { unlink(target) }
}
