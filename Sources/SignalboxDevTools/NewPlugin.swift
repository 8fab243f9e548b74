internal import Glibc
internal import SignalboxCore

/// Why a project cannot be created.
public struct AuthoringFault: Error, Sendable, CustomStringConvertible {
    /// Names the fault and the accepted values.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// `signalbox plugins new`: creates a project that builds and passes the conformance suite.
///
/// From then on it belongs to the author. Its files come from the SDK's `templates/LANGUAGE/ROLE`,
/// `templates/LANGUAGE/common` and, for what `make check` and `make run` give the plugin,
/// `templates/role/ROLE` and `templates/all`; the first that has a file counts.
public struct NewPlugin: Sendable {
    /// Languages with project templates.
    public static let languages = ["c", "swift", "rust"]
    /// Roles with project templates.
    public static let roles = [
        "ingest", "filter", "build", "send-http", "send", "register", "source", "observe",
    ]

    /// The plugin's name: `Hello` becomes `libHello.so`.
    public let name: String
    /// One of `languages`.
    public let language: String
    /// One of `roles`.
    public let role: String

    /// Checks the arguments.
    public init(name: String, language: String, role: String) throws(AuthoringFault) {
        guard Self.languages.contains(language) else {
            throw Self.unknown("language", language, Self.languages)
        }
        guard Self.roles.contains(role) else { throw Self.unknown("role", role, Self.roles) }
        let letters = name.utf8.filter { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        let isWord = letters.count == name.utf8.count
        guard isWord, (1...40).contains(name.utf8.count), name.first?.isLetter == true else {
            let better = String(decoding: letters, as: UTF8.self).drop { !$0.isLetter }.prefix(40)
            let hint = better.isEmpty ? "" : "; how about \(better)?"
            throw AuthoringFault(
                message: "a plugin's name has up to 40 letters and digits, a letter first\(hint)")
        }
        self.name = name
        self.language = language
        self.role = role
    }

    private static func unknown(
        _ what: String, _ given: String, _ known: [String]
    ) -> AuthoringFault {
        AuthoringFault(
            message: "unknown \(what) \"\(given)\"\(Suggestion.hint(for: given, among: known)); "
                + "known: \(known.joined(separator: ", "))")
    }

    /// Writes the project into a new folder. Returns the files, relative to it.
    public func write(to folder: String, sdk: String) throws(AuthoringFault) -> [String] {
        guard let root = Installation.absolute(sdk) else { throw Self.missing(sdk) }
        guard Installation.absolute(folder) == nil else {
            throw AuthoringFault(message: "\(folder) exists; nothing was written")
        }
        let place = language == "rust" ? "\(root)/rust" : root
        var written: [String] = []
        for part in ["\(language)/\(role)", "\(language)/common", "role/\(role)", "all"] {
            let source = "\(root)/templates/\(part)"
            guard let files = Folder.files(under: source) else { throw Self.missing(sdk) }
            for file in files.sorted() {
                guard let text = Folder.read("\(source)/\(file)") else {
                    throw AuthoringFault(message: "cannot read \(source)/\(file)")
                }
                let target = fill(file, place)
                if written.contains(target) { continue }
                try Folder.write(fill(text, place), to: "\(folder)/\(target)")
                written.append(target)
            }
        }
        return written.sorted()
    }

    private static func missing(_ sdk: String) -> AuthoringFault {
        AuthoringFault(
            message: "no SDK in \(sdk); name one with --sdk, or make one with scripts/sdk.sh "
                + "of the repository")
    }

    private func fill(_ text: String, _ sdk: String) -> String {
        let source =
            switch language {
            case "c": "plugin.c"
            case "rust": "src/lib.rs"
            default: "Sources/\(name)/Plugin.swift"
            }
        return [
            ("@NAME@", name), ("@ID@", name.lowercased()), ("@ROLE@", role), ("@SOURCE@", source),
            ("@SDK@", sdk),
        ].reduce(text) { Self.replaced($0, $1.0, $1.1) }
    }

    private static func replaced(_ text: String, _ mark: String, _ value: String) -> String {
        var out = ""
        var rest = text[...]
        while let found = rest.firstRange(of: mark) {
            out += rest[..<found.lowerBound]
            out += value
            rest = rest[found.upperBound...]
        }
        return out + rest
    }

    /// The folder of the SDK: the installation's, or `sdk` beside a program that is not installed.
    public static var standardSDK: String {
        Installation.shared("sdk") ?? "\(Installation.programFolder)/sdk"
    }
}

/// Files and folders.
private enum Folder {
    /// All files in a folder and its subfolders; nil if there is no such folder.
    static func files(under folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var out: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            if let below = files(under: "\(folder)/\(name)") {
                out += below.map { "\(name)/\($0)" }
            } else {
                out.append(name)
            }
        }
        return out
    }

    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 {
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func write(_ text: String, to path: String) throws(AuthoringFault) {
        var parent = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            parent += "\(part)/"
            mkdir(parent, 0o777)
        }
        guard let file = fopen(path, "wxe") else {
            throw AuthoringFault(
                message: "cannot write \(path): \(String(cString: strerror(errno)))")
        }
        let isWritten = fputs(text, file) >= 0
        guard fclose(file) == 0, isWritten else {
            throw AuthoringFault(
                message: "cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
