internal import SignalboxCore

/// Fills `${env:NAME}`, `${env:NAME:-other}` and `${file:path}`; `$${` is a literal `${`.
///
/// The result is marked as secret: no error and no log may show it.
struct Interpolation {
    let environment: ConfigEnvironment
    /// The folder that relative paths start from.
    let folder: String
    let diagnostics: Diagnostics

    /// The value of a text with at least one `$`; nil if there is nothing to fill.
    func value(of text: String, at position: SourcePosition) -> ConfigValue? {
        guard text.contains("${") else { return nil }
        var out = ""
        var rest = text[...]
        var isFilled = false
        var file: String?
        var raw: [UInt8]?
        while let mark = rest.range(ofFirst: "${") {
            if rest[..<mark].last == "$" {
                out += rest[..<mark].dropLast() + "${"
                rest = rest[rest.index(mark, offsetBy: 2)...]
                continue
            }
            out += rest[..<mark]
            let inside = rest[rest.index(mark, offsetBy: 2)...]
            guard let end = inside.firstIndex(of: "}") else {
                diagnostics.report(
                    "bad-interpolation", at: position, "\"${\" is never closed; add \"}\"")
                return ConfigValue(.string(""), at: position, isSecret: true)
            }
            let name = String(inside[..<end])
            out += fill(name, at: position, file: &file, raw: &raw)
            isFilled = true
            rest = inside[inside.index(after: end)...]
        }
        out += rest
        // A value can be read again when its file changes only if it is exactly one `${file:...}`.
        let isWhole = text.hasPrefix("${file:") && text.firstIndex(of: "}") == text.indices.last
        var value = ConfigValue(
            .string(out), at: position, isSecret: isFilled, secretFile: isWhole ? file : nil)
        if isWhole { value.secretBytes = raw }
        return value
    }

    private func fill(
        _ name: String, at position: SourcePosition, file: inout String?, raw: inout [UInt8]?
    ) -> String {
        if name.hasPrefix("env:") {
            let parts = name.dropFirst(4)
            let split = parts.range(ofFirst: ":-")
            let variable = String(split.map { parts[..<$0] } ?? parts)
            if let value = environment.variables[variable], !value.isEmpty { return value }
            if let split { return String(parts[parts.index(split, offsetBy: 2)...]) }
            diagnostics.report(
                "unset-variable", at: position,
                "the environment variable \(variable) is not set; set it, or give a default: "
                    + "${env:\(variable):-value}")
            return ""
        }
        if name.hasPrefix("file:") {
            let given = String(name.dropFirst(5))
            let path = given.hasPrefix("/") ? given : "\(folder)/\(given)"
            switch environment.readFile(path) {
            case .success(let bytes):
                file = path
                if String(validating: bytes, as: UTF8.self) == nil { raw = bytes }
                var text = String(decoding: bytes, as: UTF8.self)
                // Editors end a file with a line break; a secret has none.
                if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
                return text
            case .failure(let fault):
                report(fault, given, at: position)
                return ""
            }
        }
        let hint = Suggestion.hint(for: String(name.prefix { $0 != ":" }), among: ["env", "file"])
        diagnostics.report(
            "bad-interpolation", at: position,
            "write ${env:NAME} or ${file:path}\(hint); for a literal \"${\" write \"$${\"")
        return ""
    }

    private func report(
        _ fault: ConfigEnvironment.FileFault, _ path: String, at position: SourcePosition
    ) {
        let words =
            switch fault {
            case .missing: "does not exist"
            case .notReadable: "cannot be read"
            case .tooLarge: "is over 1 MiB"
            }
        diagnostics.report(
            "missing-file", at: position,
            "the file \(path) \(words) (looked for in \(path.hasPrefix("/") ? "/" : folder))")
    }
}

extension Substring {
    /// Where the first occurrence of `mark` begins.
    fileprivate func range(ofFirst mark: String) -> Index? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(mark) { return index }
            index = self.index(after: index)
        }
        return nil
    }
}
