package import CSignalbox
internal import Glibc

/// A loaded library with its entry, before its table is read. It is never unloaded.
package struct PluginImage {
    private let path: String
    private let entry: sbx_entry_fn

    /// An entry that is already in memory.
    init(path: String, entry: sbx_entry_fn) {
        self.path = path
        self.entry = entry
    }

    /// Loads a library from its own file, so that tools that inspect the process see that file. Runs its initialisers.
    package static func open(_ path: String) throws(LoadFault) -> PluginImage {
        try FileRules.check(path)
        return try open(path, of: path)
    }

    /// Loads a copy of a library, which later changes to the file do not affect.
    static func open(copyOf file: borrowing PluginFile) throws(LoadFault) -> PluginImage {
        let copy = try file.copy()
        guard let folder = LoadingFolder(for: file.path, copy: copy) else {
            throw LoadFault(
                "plugin-not-loadable",
                "\(file.path) cannot be loaded: no folder can be made in TMPDIR, /tmp, /dev/shm or "
                    + "/var/tmp")
        }
        return try open(folder.library, of: file.path)
    }

    private static func open(
        _ place: String, of path: String
    ) throws(LoadFault) -> PluginImage {
        dlerror()
        guard let image = dlopen(place, RTLD_NOW | RTLD_LOCAL | Int32(RTLD_NODELETE)) else {
            let reason =
                dlerror().map { loaderWords(String(cString: $0), place) }
                ?? "unknown reason"
            throw LoadFault("plugin-not-loadable", "\(path) cannot be loaded: \(reason)")
        }
        guard let symbol = dlsym(image, "sbx_plugin_entry_v1") else {
            for major in 2...9 where dlsym(image, "sbx_plugin_entry_v\(major)") != nil {
                throw LoadFault(
                    "plugin-other-major",
                    "\(path) speaks contract \(major); this host speaks \(SBX_ABI_MAJOR)")
            }
            throw LoadFault(
                "plugin-no-entry",
                "\(path) is not a Signalbox plugin: it does not export sbx_plugin_entry_v1")
        }
        return PluginImage(path: path, entry: unsafeBitCast(symbol, to: sbx_entry_fn.self))
    }

    /// The loader's message without the file name in front.
    private static func loaderWords(_ words: String, _ place: String) -> String {
        words.hasPrefix("\(place): ") ? String(words.dropFirst(place.count + 2)) : words
    }

    /// Calls the entry as a host of contract 1.`minor` that offers no service.
    package func ask(minor: UInt32 = SBX_ABI_MINOR) throws(LoadFault) -> UnsafePointer<sbx_plugin> {
        var host = sbx_host()
        host.struct_size = UInt32(MemoryLayout<sbx_host>.size)
        host.abi_major = SBX_ABI_MAJOR
        host.abi_minor = minor
        host.service = { _, _ in nil }
        var error = sbx_error.fresh
        let given = "".withCString { empty in
            "signalbox".withCString { name in
                host.name = name
                host.version = empty
                host.instance = empty
                return withUnsafePointer(to: &host) { entry($0, &error) }
            }
        }
        guard let given else {
            let reason = error.words(for: SBX_E_INTERNAL)
            throw LoadFault("plugin-refused", "\(path) refuses to run here: \(reason)")
        }
        return given
    }
}

/// The rules for library files.
package enum FileRules {
    /// Throws if the file may not be loaded.
    package static func check(_ path: String) throws(LoadFault) { _ = try PluginFile(path) }
}
