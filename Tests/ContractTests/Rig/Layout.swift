import PluginRig

/// The binary facts of a set of headers, as printed by scripts/abi/layout.sh.
struct Layout: Sendable {
    struct Struct: Sendable {
        var size: Int
        var align: Int
        var fields: [(offset: Int, text: String)] = []

        /// Structs that begin with their size may gain fields; others are frozen.
        var grows: Bool { fields.first?.text == "uint32_t struct_size" }
    }

    let lines: [String]
    private(set) var structs: [String: Struct] = [:]
    private(set) var names: [String] = []

    init(_ text: String) {
        lines = text.split(separator: "\n").map { String($0) }
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 3).map { String($0) }
            if words[0] == "struct", words.count == 4, let size = Int(words[2]),
                let align = Int(words[3].dropFirst("align ".count))
            {
                structs[words[1]] = Struct(size: size, align: align)
                names.append(words[1])
            } else if words[0] == "field", words.count == 4, let offset = Int(words[2]) {
                structs[words[1]]?.fields.append((offset, words[3]))
            }
        }
    }

    /// The layout of headers; the current one is computed once.
    static func of(_ headers: Headers) async throws -> Layout {
        let isCurrent = headers.folder == Headers.current.folder
        return isCurrent ? try await current.value : try await make(headers)
    }

    private static let current = Task { try await make(.current) }

    private static func make(_ headers: Headers) async throws -> Layout {
        Layout(try await Tool.output(["scripts/abi/layout.sh", headers.folder.path]))
    }

    /// Structs that may grow.
    var growing: [String] { names.filter { structs[$0]?.grows == true } }

    /// The facts of a kind (`constant`, `id`, `function`, ...).
    func facts(_ kind: String) -> [String] {
        lines.filter { $0.hasPrefix("\(kind) ") }.map { String($0.dropFirst(kind.count + 1)) }
    }

    /// The changes that break code compiled against an older contract; empty: none.
    func breaks(since old: Layout) -> [String] {
        let known = Set(lines)
        var out: [String] = []
        for line in old.lines where !known.contains(line) && !isLegalChange(of: line, from: old) {
            out.append("gone or changed: \(line)")
        }
        let before = Set(old.lines)
        for name in names {
            guard let was = old.structs[name], let now = structs[name] else { continue }
            for field in now.fields where field.offset < was.size {
                let line = "field \(name) \(field.offset) \(field.text)"
                if !before.contains(line) { out.append("not at the end: \(line)") }
            }
        }
        return out
    }

    /// Whether a struct that may grow has grown, or the minor was raised.
    private func isLegalChange(of line: String, from old: Layout) -> Bool {
        let words = line.split(separator: " ").map { String($0) }
        if words[0] == "struct", let was = old.structs[words[1]], let now = structs[words[1]] {
            return was.grows && now.grows && now.size >= was.size && now.align == was.align
        }
        let minor = "constant SBX_ABI_MINOR "
        guard line.hasPrefix(minor), let now = lines.first(where: { $0.hasPrefix(minor) }),
            let from = Int(line.dropFirst(minor.count).dropLast()),
            let to = Int(now.dropFirst(minor.count).dropLast())
        else { return false }
        return to > from
    }
}
