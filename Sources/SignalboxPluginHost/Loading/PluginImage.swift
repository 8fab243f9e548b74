package import CSignalbox
internal import Glibc

/// A library in memory with its entry, before anybody has looked at what it says. It is never unloaded.
package struct PluginImage {
    private let path: String
    private let entry: sbx_entry_fn

    /// An entry that is in memory already.
    init(path: String, entry: sbx_entry_fn) {
        self.path = path
        self.entry = entry
    }

    /// Loads a library. Runs its initialisers.
    package static func open(_ path: String) throws(LoadFault) -> PluginImage {
        try open(path, of: path)
    }

    /// Loads a library from a copy of its file.
    static func open(_ copy: String, of path: String) throws(LoadFault) -> PluginImage {
        try FileRules.check(copy)
        dlerror()
        guard let image = dlopen(copy, RTLD_NOW | RTLD_LOCAL | Int32(RTLD_NODELETE)) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown reason"
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

/// What a library file must be like: code that anybody may replace is not loaded.
package enum FileRules {
    /// Throws what is wrong with the file.
    package static func check(_ path: String) throws(LoadFault) {
        var facts = stat()
        guard path.hasPrefix("/"), stat(path, &facts) == 0 else {
            throw LoadFault("plugin-not-found", "there is no file \(path)")
        }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw LoadFault("plugin-file-unsafe", "\(path) is not a regular file")
        }
        guard facts.st_mode & S_IWOTH == 0 else {
            throw LoadFault(
                "plugin-file-unsafe", "\(path) may be written by anybody: chmod o-w \(path)")
        }
        guard facts.st_uid == 0 || facts.st_uid == geteuid() else {
            throw LoadFault(
                "plugin-file-unsafe",
                "\(path) belongs to user \(facts.st_uid), who is neither root nor the user that "
                    + "runs signalbox")
        }
    }
}
