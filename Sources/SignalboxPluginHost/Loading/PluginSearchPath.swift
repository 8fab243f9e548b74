internal import Glibc
internal import SignalboxCore

/// Why a library was rejected: what is wrong, in which file, and what to do.
public struct LoadFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Stable and listed in docs/errors.md: `plugin-not-found`.
    public let code: String
    /// Names the file and the reason.
    public let message: String

    package init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

/// The folders that are searched for plugins.
public struct PluginSearchPath: Sendable {
    /// Folders, in search order.
    public var folders: [String]

    /// Searches these folders.
    public init(folders: [String]) { self.folders = folders }

    /// `SIGNALBOX_PLUGINS` (folders separated by `:`), then the program's folder, then its `../lib/signalbox`;
    /// if `beside` is given, that folder and its `signalbox` instead of the last two.
    public static func standard(
        environment: [String: String], beside: String? = nil
    ) -> PluginSearchPath {
        var folders = (environment["SIGNALBOX_PLUGINS"] ?? "").split(separator: ":").map {
            String($0)
        }
        if let beside {
            folders += [beside, "\(beside)/signalbox"]
        } else if let program = absolute("/proc/self/exe") {
            let folder = parent(program)
            folders += [folder, "\(folder)/../lib/signalbox"]
        }
        return PluginSearchPath(folders: folders)
    }

    /// The absolute path of a library.
    ///
    /// `Name` is searched as `libName.so`; text with a `/` or ending in `.so` is a path, relative to
    /// `base`.
    public func resolve(_ library: String, relativeTo base: String) throws(LoadFault) -> String {
        if library.contains("/") || library.hasSuffix(".so") {
            let plain = library.hasPrefix("./") ? String(library.dropFirst(2)) : library
            let path = library.hasPrefix("/") ? library : "\(base)/\(plain)"
            guard let found = Self.absolute(path) else {
                throw LoadFault("plugin-not-found", "there is no file \(path)")
            }
            return found
        }
        for folder in folders {
            if let found = Self.absolute("\(folder)/lib\(library).so") { return found }
        }
        let searched = folders.isEmpty ? "no folder" : folders.joined(separator: ", ")
        let names = candidates.compactMap { path in
            path.split(separator: "/").last.map { String($0.dropFirst(3).dropLast(3)) }
        }
        let hint = Suggestion.hint(for: library, among: names)
        throw LoadFault(
            "plugin-not-found",
            "lib\(library).so is in none of the plugin folders\(hint): \(searched)")
    }

    /// Libraries in the folders whose names begin with `lib` and end in `.so`, absolute.
    public var candidates: [String] {
        var found: [String] = []
        for folder in folders {
            guard let stream = opendir(folder) else { continue }
            defer { closedir(stream) }
            var names: [String] = []
            while let entry = readdir(stream) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name.hasPrefix("lib"), name.hasSuffix(".so") { names.append(name) }
            }
            for name in names.sorted() {
                if let path = Self.absolute("\(folder)/\(name)"), !found.contains(path) {
                    found.append(path)
                }
            }
        }
        return found
    }

    /// The path without links and dots; nil if nothing is there.
    package static func absolute(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
