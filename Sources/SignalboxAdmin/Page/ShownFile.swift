internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxPluginHost

/// The lines of a configuration with its secrets masked.
///
/// A value is masked if a plugin's schema or the gateway treats it as a secret, if it equals one, if its key sounds
/// like one, or if it is an address with a password or a query. References such as `${env:...}` and `${file:...}` are
/// shown, since the file does not contain what they stand for. When in doubt, everything up to the next value is
/// masked.
struct ShownFile {
    private static let mask = "••••••"
    private static let names = [
        "token", "secret", "password", "passphrase", "authorization", "credential", "private",
    ]
    private static let whole: Set = [
        "key", "api_key", "apikey", "service_account", "postgres", "keys",
    ]

    /// The lines; empty if the text is not YAML, since its secrets are unknown then.
    private(set) var lines: [String] = []
    private var starts: [SourcePosition] = []
    private var secrets: [SourcePosition] = []
    private let values: Set<String>
    /// Plugins without a schema that marks their secrets.
    private let unknown: Set<String>

    init(_ plan: GatewayPlan) {
        let config = plan.config
        let texts =
            plan.plugins.flatMap { $0.config.secrets.values.map(\.bytes) }
            .map { String(decoding: $0, as: UTF8.self) } + config.secrets
        values = Set(texts.filter { !$0.isEmpty })
        unknown = Set(config.plugins.map(\.name)).subtracting(plan.plugins.map(\.name))
        guard let given = config.given else { return }
        look(at: given, [])
        lines = masked(String(decoding: config.text, as: UTF8.self))
    }

    private mutating func look(at value: ConfigValue, _ path: [String]) {
        starts.append(value.position)
        switch value.kind {
        case .map(let entries):
            for entry in entries {
                starts.append(entry.keyPosition)
                look(at: entry.value, path + [entry.key])
            }
        case .list(let items): for item in items { look(at: item, path) }
        case .null: break
        case .string(let text):
            if isSecret(text, path) { secrets.append(value.position) }
        case .bool, .integer, .number:
            if isSecret("", path) { secrets.append(value.position) }
        }
    }

    private func isSecret(_ text: String, _ path: [String]) -> Bool {
        let key = (path.last ?? "").lowercased()
        if Self.sounds(key) || values.contains(text) { return true }
        if values.contains(where: { $0.utf8.count >= 8 && text.contains($0) }) { return true }
        // A collector's header may be a key, whatever its name.
        if path.count == 4, path[0..<3] == ["gateway", "tracing", "headers"] { return true }
        // Some sources sign nothing, and their path is the secret.
        if path.count == 4, path[0] == "plugins", path[2...] == ["config", "path"] { return true }
        if Self.hidesInAddress(text, isSent: path.first == "routes" || path.first == "texts") {
            return true
        }
        return path.count > 3 && path[0] == "plugins" && path[2] == "config"
            && unknown.contains(path[1])
    }

    /// Whether an address may hold secrets: a user name and password, or a query (`?sig=...`).
    ///
    /// `isSent`: it is sent to phones, as a link is, so its query is no secret.
    private static func hidesInAddress(_ text: String, isSent: Bool) -> Bool {
        let isWhole = text.contains("://")
        if isWhole, text.contains("@") { return true }
        return !isSent && text.contains("?") && (isWhole || text.hasPrefix("/"))
    }

    private static func sounds(_ key: String) -> Bool {
        whole.contains(key) || names.contains { key.contains($0) } && key != "token_check"
    }

    // MARK: The text

    private func masked(_ text: String) -> [String] {
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Array($0.last == "\r" ? $0.dropLast() : $0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
        for index in lines.indices { lines[index] = Self.comment(lines[index]) }
        // Backwards, so that earlier positions stay valid.
        for start in secrets.sorted(by: { ($1.line, $1.column) < ($0.line, $0.column) }) {
            let end = starts.filter { ($0.line, $0.column) > (start.line, start.column) }
                .min { ($0.line, $0.column) < ($1.line, $1.column) }
            hide(start, end, &lines)
        }
        return lines.map { line in
            var text = String.UnicodeScalarView()
            text.append(contentsOf: line)
            return String(text)
        }
    }

    /// Masks from one place up to another.
    private func hide(
        _ start: SourcePosition, _ end: SourcePosition?, _ lines: inout [[Unicode.Scalar]]
    ) {
        let last = min(end?.line ?? lines.count, lines.count)
        guard start.line <= last else { return }
        let first = lines[start.line - 1]
        let from = min(start.column - 1, first.count)
        let to = end?.line == start.line ? min((end?.column ?? 1) - 1, first.count) : first.count
        let given = first[from..<max(from, to)]
        guard !Self.isReference(given) else { return }
        let space = Array((to < first.count ? " " : "").unicodeScalars)
        lines[start.line - 1] =
            first[..<from] + Array(Self.mask.unicodeScalars) + space + first[max(from, to)...]
        let isOneLine = Self.endsInLine(given)
        for number in start.line + 1..<max(start.line + 1, end.map { $0.line } ?? last + 1) {
            let line = lines[number - 1]
            let indent = line.prefix { $0 == " " }.count
            guard indent < line.count, !isOneLine || line[indent] != "#" else { continue }
            lines[number - 1] = line[..<indent] + Array(Self.mask.unicodeScalars)
        }
    }

    /// Whether a comment may follow in the next line, since the value is no block and its quotes are closed.
    private static func endsInLine(_ part: ArraySlice<Unicode.Scalar>) -> Bool {
        switch part.first {
        case "|", ">": false
        case "\"", "'": part.dropFirst().contains(part[part.startIndex])
        default: true
        }
    }

    /// Whether it is only `${...}` without a default, quoted or not.
    private static func isReference(_ part: ArraySlice<Unicode.Scalar>) -> Bool {
        var rest = Substring(String(String.UnicodeScalarView(part)))
        if rest.first == "\"" || rest.first == "'" { rest.removeFirst() }
        var count = 0
        while rest.hasPrefix("${env:") || rest.hasPrefix("${file:") {
            var depth = 0
            var inner = ""
            repeat {
                if rest.hasPrefix("${") { depth += 1 }
                guard let next = rest.popFirst() else { return false }
                if next == "}" { depth -= 1 }
                inner.append(next)
            } while depth > 0
            guard !inner.replacing(":-${", with: "").replacing(":-}", with: "").contains(":-")
            else { return false }
            count += 1
        }
        if let comment = rest.firstRange(of: " #") { rest = rest[..<comment.lowerBound] }
        return count > 0 && rest.allSatisfy { "\"' ,}]".contains($0) }
    }

    /// Masks comments, which may hold a value that is no longer used.
    private static func comment(_ line: [Unicode.Scalar]) -> [Unicode.Scalar] {
        guard line.first(where: { $0 != " " && $0 != "\t" }) == "#",
            let colon = line.firstIndex(of: ":")
        else { return line }
        let key = String(String.UnicodeScalarView(line[..<colon])).lowercased()
            .filter { !" #-\t\"'".contains($0) }
        let rest = String(String.UnicodeScalarView(line[line.index(after: colon)...]))
        guard sounds(key) || hidesInAddress(rest, isSent: false) else { return line }
        return line[...colon] + Array(" \(mask)".unicodeScalars)
    }
}
