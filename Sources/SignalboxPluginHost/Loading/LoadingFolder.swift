internal import Glibc

/// A folder that exists while a copy of a library is loaded. The loader finds the copy there under the
/// file's name, with links to the files next to the original.
///
/// The copy is a file in memory, so a plugin keeps its code if the original is overwritten, truncated or
/// removed later, and a file system mounted with `noexec` does not matter. But the copy has no folder, so
/// `$ORIGIN` in a library's search path (the Swift runtime of an installation, libraries that a plugin
/// brings) would be `/proc/self/fd`. Hence the links: next to the copy to the files of the original's folder,
/// and above it to those of as many folders as the search path goes up. Each folder's name is used once,
/// because the loader returns the old image for a name it knows.
struct LoadingFolder: ~Copyable {
    /// The path to load the library from.
    let library: String
    private var made: [String] = []

    /// Nil if no folder can be made.
    init?(for original: String, copy: borrowing MemoryFile) {
        guard let root = Self.make() else { return nil }
        var made = [root]
        var place = root
        let parts = original.split(separator: "/").map(String.init)
        func link(_ target: String, _ name: String) {
            if symlink(target, "\(place)/\(name)") == 0 { made.append("\(place)/\(name)") }
        }
        if let above = copy.foldersAboveOrigin {
            let first = max(0, parts.count - 1 - above)
            for depth in first..<parts.count {
                let folder = "/" + parts[..<depth].joined(separator: "/")
                for name in Self.names(in: folder) where name != parts[depth] {
                    link("\(folder)/\(name)", name)
                }
                guard depth < parts.count - 1 else { break }
                place += "/\(parts[depth])"
                mkdir(place, 0o700)
                made.append(place)
            }
        }
        let name = parts.last ?? "plugin"
        library = "\(place)/\(name)"
        link(copy.path, name)
        self.made = made
    }

    deinit { for path in made.reversed() { remove(path) } }

    private static func make() -> String? {
        let places = [getenv("TMPDIR").map { String(cString: $0) }, "/tmp", "/dev/shm", "/var/tmp"]
        for place in places.compactMap(\.self) where place.hasPrefix("/") {
            // mkdtemp() replaces six of these with letters of its own.
            let pattern = "\(place)/signalbox-load-" + String(repeating: "X", count: 6)
            var name = Array(pattern.utf8CString)
            if mkdtemp(&name) != nil {
                let bytes = name.dropLast().map { UInt8(bitPattern: $0) }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        return nil
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
