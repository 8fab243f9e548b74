internal import SignalboxCore

/// Fills `${env:NAME}`, `${env:NAME:-other}` and `${file:path}`; `$${` is a literal `${`.
///
/// Defaults and paths may contain further references. The result is marked as secret, so no error or log shows it.
struct Interpolation {
    let environment: ConfigEnvironment
    /// The folder that relative paths start from.
    let folder: String
    let diagnostics: Diagnostics

    /// The file of a value, and its bytes if they are not text.
    private struct Source {
        var file: String
        var raw: [UInt8]?
    }

    /// The value of a text with at least one `$`; nil if there is nothing to fill.
    func value(of text: String, at position: SourcePosition) -> ConfigValue? {
        guard text.contains("${") else { return nil }
        let parts: [ReferencedText]
        do throws(ReferencedText.Fault) {
            parts = try ReferencedText.parse(text)
        } catch {
            diagnostics.report("bad-interpolation", at: position, error.message)
            return ConfigValue(.string(""), at: position, isSecret: true)
        }
        var source: Source?
        let filled = fill(parts, at: position, &source)
        let isSecret = parts.contains { if case .reference = $0 { true } else { false } }
        // Only a value that is exactly one `${file:...}` can be read again when its file changes.
        var value = ConfigValue(
            .string(filled), at: position, isSecret: isSecret,
            secretFile: source?.file)
        value.secretBytes = source?.raw
        value.isStandIn = diagnostics.standIns.contains(position)
        return value
    }

    private func standIn(
        _ missing: ConfigEnvironment.Missing, at position: SourcePosition
    ) -> String? {
        guard let text = environment.standIn?(missing) else { return nil }
        diagnostics.standIns.insert(position)
        return text
    }

    /// `source` is set if the parts are exactly one file.
    private func fill(
        _ parts: [ReferencedText], at position: SourcePosition, _ source: inout Source?
    ) -> String {
        var out = ""
        var last: Source?
        for part in parts {
            switch part {
            case .text(let text): out += text
            case .reference(let inner):
                let filled = value(of: inner, at: position, &last)
                if filled.isEmpty, parts.count > 1 { diagnostics.blanks.insert(position) }
                out += filled
            }
        }
        if parts.count == 1 { source = last }
        return out
    }

    /// The value of a reference, the part between `${` and `}`.
    private func value(
        of inner: [ReferencedText], at position: SourcePosition, _ source: inout Source?
    ) -> String {
        var aside: Source?
        switch inner.first {
        case .text(let start) where start.hasPrefix("env:"):
            let (name, other) = ReferencedText.split(inner, after: "env:".count)
            // A name that contains a value must not be shown.
            let shown = ReferencedText.written(name)
            let variable = fill(name, at: position, &aside)
            if let value = environment.variables[variable], !value.isEmpty { return value }
            if let other { return fill(other, at: position, &source) }
            if let text = standIn(.variable(variable), at: position) { return text }
            diagnostics.report(
                "unset-variable", at: position,
                "the environment variable \(shown) is not set; set it, or give a default: "
                    + "${env:\(shown):-value}")
        case .text(let start) where start.hasPrefix("file:"):
            let given = ReferencedText.written(inner).dropFirst("file:".count)
            let path = fill(inner, at: position, &aside).dropFirst("file:".count)
            return read(String(path), shown: String(given), at: position, &source)
        default:
            let name = ReferencedText.written(inner).prefix { $0 != ":" }
            let hint = Suggestion.hint(for: String(name), among: ["env", "file"])
            diagnostics.report(
                "bad-interpolation", at: position,
                "write ${env:NAME} or ${file:path}\(hint); for a literal \"${\" write \"$${\"")
        }
        return ""
    }

    private func read(
        _ given: String, shown: String, at position: SourcePosition, _ source: inout Source?
    ) -> String {
        let path = given.hasPrefix("/") ? given : "\(folder)/\(given)"
        switch environment.readFile(path) {
        case .success(let bytes):
            source = Source(
                file: path, raw: String(validating: bytes, as: UTF8.self) == nil ? bytes : nil)
            var text = String(decoding: bytes, as: UTF8.self)
            // Editors end a file with a line break, which is not part of the secret.
            if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
            diagnostics.files.append(
                FilledFile(
                    path, written: given == shown ? nil : shown, text: text, at: position))
            return text
        case .failure(let fault):
            if fault == .missing, let text = standIn(.file(given), at: position) { return text }
            let words = fault.words
            diagnostics.report(
                "missing-file", at: position,
                "the file \(shown) \(words) (looked for in \(shown.hasPrefix("/") ? "/" : folder))")
            return ""
        }
    }
}

/// A parsed text with references; `${` and `}` must match, also when nested.
indirect enum ReferencedText {
    case text(String)
    /// The part between `${` and `}`.
    case reference([ReferencedText])

    struct Fault: Error {
        let message: String
    }

    private static let depthMax = 8

    static func parse(_ text: String) throws(Fault) -> [ReferencedText] {
        var rest = text[...]
        return try parts(&rest, depth: 0)
    }

    private static func parts(
        _ rest: inout Substring, depth: Int
    ) throws(Fault) -> [ReferencedText] {
        guard depth <= depthMax else {
            throw Fault(message: "\"${\" is nested more than \(depthMax) levels deep")
        }
        var out: [ReferencedText] = []
        var plain = ""
        func end() { if !plain.isEmpty { out.append(.text(plain)) } }
        while let next = rest.first {
            if rest.hasPrefix("$${") {
                plain += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                end()
                plain = ""
                rest = rest.dropFirst(2)
                out.append(.reference(try parts(&rest, depth: depth + 1)))
            } else if next == "}", depth > 0 {
                rest = rest.dropFirst()
                end()
                return out
            } else {
                plain.append(next)
                rest = rest.dropFirst()
            }
        }
        guard depth == 0 else { throw Fault(message: "\"${\" is never closed; add \"}\"") }
        end()
        return out
    }

    /// Splits at the first `:-` outside of nested references, after dropping `count` characters at the start.
    static func split(
        _ parts: [ReferencedText], after count: Int
    ) -> (name: [ReferencedText], other: [ReferencedText]?) {
        var name: [ReferencedText] = []
        for (index, part) in parts.enumerated() {
            guard case .text(let text) = part else {
                name.append(part)
                continue
            }
            let own = index == 0 ? text.dropFirst(count) : text[...]
            if let mark = own.firstRange(of: ":-") {
                name.append(.text(String(own[..<mark.lowerBound])))
                let start = String(own[mark.upperBound...])
                let first = start.isEmpty ? [] : [ReferencedText.text(start)]
                return (name, first + parts[(index + 1)...])
            }
            name.append(.text(String(own)))
        }
        return (name, nil)
    }

    /// The text as written in the file.
    static func written(_ parts: [ReferencedText]) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .reference(let inner): "${\(written(inner))}"
            }
        }.joined()
    }
}
