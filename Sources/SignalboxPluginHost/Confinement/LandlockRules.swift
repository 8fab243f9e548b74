internal import CLinux
internal import Glibc

/// What a plugin's process may do with files, and with other processes.
enum LandlockRules {
    /// Libraries, zones and certificates of the system.
    private static let folders = [
        "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
        "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
        "/usr/share/ca-certificates", "/sys/devices/system/cpu",
    ]
    private static let files = [
        "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/ssl/openssl.cnf",
        "/dev/random", "/dev/urandom",
    ]

    private static let read: UInt64 = LL_READ_FILE | LL_READ_DIR

    /// Only forbids access to processes other than its own children, and signals to them.
    ///
    /// Under any Landlock rules, a process may not trace processes outside them or read their /proc/PID.
    static func enterProcess() -> Int32 {
        let version = landlock_version()
        // The first version forbids moving files between folders, whatever the rules are.
        guard version >= 2 else { return ENOSYS }
        let rights: UInt64 = LL_MAKE_BLOCK | LL_REFER
        let set = landlock_begin(rights, 0, landlock_signals(version))
        guard set >= 0 else { return errno }
        let status = landlock_allow(set, "/", rights)
        return status == 0 ? landlock_enter(set) : status
    }

    /// Allows reading what a translator needs, and writing nothing.
    static func enterSandbox(_ plan: ConfinementPlan) -> Int32 {
        let version = landlock_version()
        guard version >= 1 else { return ENOSYS }
        let set = landlock_begin(
            landlock_files(version), landlock_network(version),
            landlock_signals(version) | landlock_sockets(version))
        guard set >= 0 else { return errno }
        var status: Int32 = 0
        func allow(_ path: String, _ rights: UInt64 = read) {
            let failed = landlock_allow(set, path, rights)
            if failed != 0 { status = failed }
        }
        for path in folders + files { allow(path) }
        allow("/dev/null", read | LL_WRITE_FILE)
        // libdispatch reads /proc/THREAD/stat of its threads, and traps if it cannot. Secrets there stay protected,
        // because a process cannot inspect processes outside its domain.
        allow("/proc", LL_READ_FILE)
        for path in plan.files { allow(path) }
        // Not the folders as a whole: gateway.yaml and secrets may lie beside a library.
        for path in libraries(plan.library) { allow(path) }
        return status == 0 ? landlock_enter(set) : status
    }

    /// The libraries beside the plugin's, and beside those of this program.
    private static func libraries(_ library: String) -> Set<String> {
        var places: Set = [folder(of: library), folder(of: library) + "/runtime"]
        for path in loaded { places.insert(folder(of: path)) }
        if let path = getenv("LD_LIBRARY_PATH") {
            for place in String(cString: path).split(separator: ":") { places.insert("\(place)") }
        }
        var found: Set = [library]
        for place in places where place.hasPrefix("/") {
            for name in names(in: place) where name.hasSuffix(".so") || name.contains(".so.") {
                found.insert("\(place)/\(name)")
            }
        }
        return found
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// The files of the libraries that this program has loaded.
    private static var loaded: [String] {
        guard let file = fopen("/proc/self/maps", "r") else { return [] }
        defer { fclose(file) }
        var found: Set<String> = []
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        while getline(&line, &room, file) > 0, let text = line {
            let words = String(cString: text)
            if let start = words.firstIndex(of: "/"), words.contains(".so") {
                found.insert(String(words[start...].dropLast()))
            }
        }
        return Array(found)
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }
}
