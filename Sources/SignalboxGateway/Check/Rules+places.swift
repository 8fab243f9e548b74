internal import Glibc
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// Which other users of this machine may change or read what the gateway trusts.
extension CheckRule {
    static let places = [
        CheckRule(.machineWarning, "file-unsafe") { subject in
            var seen: Set<String> = []
            return subject.trusted.flatMap { file in
                [
                    FilePlace.fault(of: file.path, user: subject.user),
                    FilePlace.folder(above: file.path, user: subject.user),
                ].compactMap { fault in
                    // A folder of many files is reported once.
                    guard let fault, seen.insert(fault.path).inserted else { return nil }
                    return Finding(file.position, file.words(fault))
                }
            }
        },
        CheckRule(.machineWarning, "secret-readable") { subject in
            var seen: Set<String> = []
            let files = subject.config.files.compactMap { file -> Finding? in
                let path = absolute(file.path)
                guard !file.isPublic, let mode = FilePlace.openMode(of: path),
                    seen.insert(path).inserted
                else { return nil }
                let shown = file.written ?? path
                return Finding(
                    file.position,
                    "\(shown) is readable by everybody (mode \(mode)): chmod o-r \(shown)")
            }
            let config = subject.config.file
            guard !config.isEmpty, subject.holdsSecret,
                let mode = FilePlace.openMode(of: absolute(config))
            else {
                return files
            }
            return files + [
                Finding(
                    subject.config.start,
                    "\(config) has a secret written in it, and is readable by everybody (mode \(mode)): chmod o-r "
                        + config)
            ]
        },
    ]

    /// The path from the root, without empty and `.` steps.
    fileprivate static func absolute(_ path: String) -> String {
        var whole = path
        if !path.hasPrefix("/") {
            let here = getcwd(nil, 0)
            defer { free(here) }
            whole = (here.map { String(cString: $0) } ?? "") + "/" + path
        }
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// A file or folder that the gateway trusts.
    fileprivate struct Trusted {
        let path: String
        /// Shown instead of a path that must not be shown.
        let written: String?
        let position: SourcePosition

        func words(_ fault: FilePlace.Fault) -> String {
            guard let written else {
                let subject =
                    fault.path == path
                    ? (fault.isFolder ? "the folder \(path)" : path)
                    : "\(path): the folder \(fault.path)"
                return fault.words(subject, path: fault.path)
            }
            guard fault.isFolder else { return fault.words(written, path: written) }
            return fault.words(
                fault.path == path ? "the folder \(written)" : "\(written): a folder above it",
                path: "that folder")
        }
    }
}

extension CheckSubject {
    /// The configuration, the files it includes or plugins read, the audit log and the data folder.
    fileprivate var trusted: [CheckRule.Trusted] {
        var out = [CheckRule.Trusted(path: config.file, written: nil, position: config.start)]
        out += config.files.map {
            CheckRule.Trusted(path: $0.path, written: $0.written, position: $0.position)
        }
        for file in plugins.flatMap(\.config.files) {
            out.append(
                CheckRule.Trusted(
                    path: file.path, written: file.value.isSecret ? "of \(file.key)" : nil,
                    position: file.value.position))
        }
        for (key, path) in [("audit", config.auditPath), ("data", dataFolder)] {
            guard let path else { continue }
            let given = config.given?["gateway"]?[key]
            out.append(
                CheckRule.Trusted(
                    path: path, written: given?.isSecret == true ? "of gateway.\(key)" : nil,
                    position: given?.position ?? config.start))
        }
        return out.map {
            CheckRule.Trusted(
                path: CheckRule.absolute($0.path), written: $0.written, position: $0.position)
        }.filter { FilePlace.facts(of: $0.path) != nil }
    }

    /// Whether a secret is written in gateway.yaml itself.
    fileprivate var holdsSecret: Bool {
        let secrets =
            plugins.flatMap { $0.config.secrets.values.map(\.bytes) }
            + config.secrets.map { Array($0.utf8) }
        return secrets.contains { $0.count >= 8 && !config.text.ranges(of: $0).isEmpty }
    }

    /// The user the gateway runs as. When root checks the configuration, that is the owner of the data folder.
    fileprivate var user: UInt32 {
        guard options.isCheck, geteuid() == 0, let data = dataFolder else { return geteuid() }
        return FilePlace.facts(of: data)?.owner ?? 0
    }
}
