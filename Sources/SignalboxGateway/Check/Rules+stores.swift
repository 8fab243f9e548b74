internal import Foundation
internal import Glibc
internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxPostgres
internal import SignalboxStore

/// `gateway.data`, `gateway.store`, and files named by path.
extension CheckRule {
    static let stores = [
        CheckRule(.fault, "store-address") { subject in
            guard let settings = subject.config.gateway.store else { return [] }
            do throws(PostgresAddressError) {
                _ = try PostgresAddress(settings.address)
                return []
            } catch {
                return [Finding(settings.position, "gateway.store: \(error)")]
            }
        },
        CheckRule(.machineFault, "store-not-writable") { subject in
            let config = subject.config
            let given = config.given?["gateway"]?["data"]
            // A URL in place of a folder has a finding of its own.
            guard config.gateway.store == nil, subject.options.store == nil,
                given?.string?.contains("://") != true
            else { return [] }
            let folder = config.dataPath
            guard let words = folderFault(folder) else { return [] }
            let shown = given?.isSecret == true ? "" : " \(folder)"
            return [
                Finding(
                    given?.position ?? config.start, "gateway.data: the folder\(shown) \(words)")
            ]
        },
        CheckRule(.machineWarning, "audit-not-writable") { subject in
            guard let path = subject.config.auditPath else { return [] }
            let given = subject.config.given?["gateway"]?["audit"]
            let inputs = [subject.config.file] + subject.config.files.map(\.path)
            guard let words = fileFault(path, among: inputs) else { return [] }
            return [
                Finding(
                    given?.position ?? subject.config.start,
                    "gateway.audit: \(given?.isSecret == true ? "the file" : path) \(words); changes "
                        + "would be in the log instead")
            ]
        },
        CheckRule(.machineWarning, "disk-nearly-full") { subject in
            guard let folder = subject.dataFolder else { return [] }
            // The folder may be missing: startup creates it.
            let place = access(folder, F_OK) == 0 ? folder : above(folder)
            let free = subject.options.freeBytes(place)
            guard free < DiskSpace.bytesWanted else { return [] }
            return [
                Finding(
                    subject.config.given?["gateway"]?["data"]?.position ?? subject.config.start,
                    "gateway.data: its disk has \(free >> 20) MiB left, and should have "
                        + "\(DiskSpace.bytesWanted >> 20): without room, events are answered 503")
            ]
        },
        CheckRule(.machineFault, "missing-file") { subject in
            let config = subject.config
            var files = subject.plugins.flatMap { plugin in
                plugin.config.files.map { file in
                    ("plugin \"\(plugin.name)\": \(file.key)", file.path, file.value)
                }
            }
            for (key, value) in caFiles(config.given) {
                files.append((key, config.path(value.string ?? ""), value))
            }
            return files.compactMap { what, path, value in
                subject.fault(ofFile: path).map {
                    Finding(
                        value.position, "\(what): the file \(value.isSecret ? "" : "\(path) ")\($0)"
                    )
                }
            }
        },
    ]

    /// `ca` of outcome receivers, of users and of tracing.
    private static func caFiles(_ file: ConfigValue?) -> [(key: String, value: ConfigValue)] {
        let places = [
            ("outcomes", file?["outcomes"]), ("devices users", file?["devices"]?["users"]),
        ]
        var found = places.flatMap { name, list in
            (list?.items ?? []).compactMap { item in
                item["ca"].map { ("\(name) \"\(item["name"]?.string ?? "")\": ca", $0) }
            }
        }
        if let value = file?["gateway"]?["tracing"]?["ca"] {
            found.append(("gateway.tracing: ca", value))
        }
        return found.filter { $0.1.string?.isEmpty == false }
    }

    /// `O_TMPFILE`, which Swift does not import.
    private static var temporary: Int32 { 0o20_000_000 | O_DIRECTORY }

    /// The folder that a path is in.
    private static func above(_ path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Whether a file can be created in a folder; removes it again.
    private static func takesFile(_ folder: String) -> Bool {
        let name = "\(folder)/.signalbox-check-\(getpid())"
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        unlink(name)
        return true
    }

    /// Why a gateway could or should not append to a file; nil if it can. Leaves nothing behind.
    private static func fileFault(_ path: String, among inputs: [String]) -> String? {
        if let facts = FilePlace.facts(of: path) {
            if facts.isFolder { return "is a folder; name a file in it" }
            if inputs.contains(where: { FilePlace.facts(of: $0)?.number == facts.number }) {
                return "is a file that this configuration reads"
            }
            guard access(path, W_OK) != 0 else { return nil }
            return "cannot be written: \(String(cString: strerror(errno)))"
        }
        let folder = above(path)
        guard access(folder, F_OK) == 0 else { return "cannot be made: its folder does not exist" }
        guard access(folder, W_OK | X_OK) != 0 else { return nil }
        return "cannot be made: \(String(cString: strerror(errno)))"
    }

    /// Why a gateway could not keep its data in a folder; nil if it can. Leaves nothing behind.
    private static func folderFault(_ folder: String) -> String? {
        var place = folder
        if access(place, F_OK) != 0, errno == ENOENT {
            // Startup creates the folder but not its parents.
            place = above(place)
            guard access(place, F_OK) == 0 else {
                return "cannot be made: the folder above it does not exist"
            }
        }
        guard FilePlace.facts(of: place)?.isFolder == true else { return "is not a folder" }
        // Unlike access(), an unnamed temporary file also detects a read-only file system.
        let descriptor = open(place, temporary | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
        } else if errno != EOPNOTSUPP || !takesFile(place) {
            return
                "cannot be written: \(String(cString: strerror(errno))); check its owner and mode"
        }
        let database = "\(folder)/signalbox.sqlite"
        guard access(database, F_OK) == 0, access(database, R_OK | W_OK) != 0 else { return nil }
        return "has a database that cannot be written: \(String(cString: strerror(errno)))"
    }
}

extension ConfigValue {
    /// The items of a list; empty for other kinds.
    package var items: [ConfigValue] { if case .list(let items) = kind { items } else { [] } }

    /// The entries of a map; empty for other kinds.
    package var entries: [Entry] { if case .map(let entries) = kind { entries } else { [] } }

    /// Every text in it.
    package var texts: [ConfigValue] {
        switch kind {
        case .string: [self]
        case .list(let items): items.flatMap(\.texts)
        case .map(let entries): entries.flatMap(\.value.texts)
        default: []
        }
    }
}
