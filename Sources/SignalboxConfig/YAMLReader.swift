internal import CYaml
internal import SignalboxCore

/// Parses YAML into values with positions.
///
/// One document without anchors, aliases or tags, so that a file means what it shows and cannot expand while it is
/// read.
struct YAMLReader {
    static let depthMax = 64

    private let bytes: [UInt8]
    private let file: String
    private let diagnostics: Diagnostics
    private let interpolation: Interpolation
    private var parser = yaml_parser_t()
    private var event = yaml_event_t()

    private struct Stop: Error {}

    private init(
        _ bytes: [UInt8], file: String, interpolation: Interpolation, diagnostics: Diagnostics
    ) {
        self.bytes = bytes
        self.file = file
        self.diagnostics = diagnostics
        self.interpolation = interpolation
    }

    /// The document's value; nil if the text is not YAML or uses an unsupported feature.
    static func read(
        _ bytes: [UInt8], file: String, interpolation: Interpolation, diagnostics: Diagnostics
    ) -> ConfigValue? {
        var reader = YAMLReader(
            bytes, file: file, interpolation: interpolation, diagnostics: diagnostics)
        return bytes.withUnsafeBufferPointer { buffer in
            guard yaml_parser_initialize(&reader.parser) == 1 else { return nil }
            defer {
                yaml_event_delete(&reader.event)
                yaml_parser_delete(&reader.parser)
            }
            yaml_parser_set_input_string(&reader.parser, buffer.baseAddress, buffer.count)
            return try? reader.document()
        }
    }

    private mutating func document() throws(Stop) -> ConfigValue {
        try next()
        try next()
        guard event.type == YAML_DOCUMENT_START_EVENT else {
            throw stop("empty-file", "the file is empty")
        }
        try next()
        let value = try node(depth: 0)
        try next()
        try next()
        if event.type == YAML_DOCUMENT_START_EVENT {
            throw stop("not-yaml", "one file holds one document; remove the second \"---\"")
        }
        return value
    }

    private mutating func next() throws(Stop) {
        yaml_event_delete(&event)
        guard yaml_parser_parse(&parser, &event) == 1 else {
            if isAtTab {
                diagnostics.report(
                    "not-yaml", at: problemPosition,
                    "this is not YAML: there is a tab here; indent with spaces")
                throw Stop()
            }
            let problem = parser.problem.map { String(cString: $0) } ?? "it cannot be read"
            let context = parser.context.map { " " + String(cString: $0) } ?? ""
            diagnostics.report(
                "not-yaml",
                at: problemPosition,
                "this is not YAML: \(problem)\(context)")
            throw Stop()
        }
    }

    /// Where the parser stopped. For an invalid character libyaml gives only its offset in the file.
    private var problemPosition: SourcePosition {
        let mark = parser.problem_mark
        guard parser.error == YAML_READER_ERROR else {
            return SourcePosition(
                file: file, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
        }
        let before = bytes.prefix(parser.problem_offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return SourcePosition(
            file: file, line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            column: before.count - lineStart + 1)
    }

    /// Whether the parser stopped at a tab, which YAML does not allow as indentation.
    private var isAtTab: Bool {
        let place = problemPosition
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.indices.contains(place.line - 1) else { return false }
        return lines[place.line - 1].dropFirst(place.column - 1).first == UInt8(ascii: "\t")
    }

    private var position: SourcePosition {
        SourcePosition(
            file: file, line: Int(event.start_mark.line) + 1,
            column: Int(event.start_mark.column) + 1)
    }

    private func stop(_ code: String, _ message: String) -> Stop {
        diagnostics.report(code, at: position, message)
        return Stop()
    }

    private mutating func node(depth: Int) throws(Stop) -> ConfigValue {
        guard depth < Self.depthMax else {
            throw stop("too-deep", "this is nested more than \(Self.depthMax) levels deep")
        }
        switch event.type {
        case YAML_SCALAR_EVENT: return try scalar()
        case YAML_SEQUENCE_START_EVENT: return try list(depth: depth)
        case YAML_MAPPING_START_EVENT: return try map(depth: depth)
        case YAML_ALIAS_EVENT:
            throw stop("anchor", "anchors and aliases are not supported; write the value out")
        default: throw stop("not-yaml", "a value is missing here")
        }
    }

    private func refuseAnchor(
        _ anchor: UnsafeMutablePointer<UInt8>?, _ tag: UnsafeMutablePointer<UInt8>?
    ) throws(Stop) {
        if anchor != nil {
            throw stop("anchor", "anchors and aliases are not supported; write the value out")
        }
        if tag != nil { throw stop("tag", "tags such as !!str are not supported; use quotes") }
    }

    private mutating func list(depth: Int) throws(Stop) -> ConfigValue {
        let start = event.data.sequence_start
        try refuseAnchor(start.anchor, start.tag)
        let at = position
        var items: [ConfigValue] = []
        try next()
        while event.type != YAML_SEQUENCE_END_EVENT {
            items.append(try node(depth: depth + 1))
            try next()
        }
        return ConfigValue(.list(items), at: at)
    }

    private mutating func map(depth: Int) throws(Stop) -> ConfigValue {
        let start = event.data.mapping_start
        try refuseAnchor(start.anchor, start.tag)
        let at = position
        var entries: [ConfigValue.Entry] = []
        var lines: [String: Int] = [:]
        try next()
        while event.type != YAML_MAPPING_END_EVENT {
            let keyPosition = position
            guard event.type == YAML_SCALAR_EVENT else {
                throw stop("not-yaml", "a key must be a simple name")
            }
            let key = text
            try next()
            let value = try node(depth: depth + 1)
            if let line = lines[key] {
                diagnostics.report(
                    "duplicate-key", at: keyPosition,
                    "\"\(key)\" is given twice; the first is on line \(line)")
            } else {
                lines[key] = keyPosition.line
                entries.append(.init(key: key, keyPosition: keyPosition, value: value))
            }
            try next()
        }
        return ConfigValue(.map(entries), at: at)
    }

    private var text: String {
        let scalar = event.data.scalar
        return String(
            decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
    }

    private mutating func scalar() throws(Stop) -> ConfigValue {
        let scalar = event.data.scalar
        try refuseAnchor(scalar.anchor, scalar.tag)
        let text = text
        if text.utf8.contains(UInt8(ascii: "$")),
            let value = interpolation.value(of: text, at: position)
        {
            return value
        }
        guard scalar.style == YAML_PLAIN_SCALAR_STYLE else {
            return ConfigValue(.string(text), at: position)
        }
        return ConfigValue(PlainScalar.kind(of: text), at: position)
    }
}

/// The value of an unquoted word, by YAML 1.2's core schema, so that `no` and `on` stay words.
enum PlainScalar {
    static func kind(of text: String) -> ConfigValue.Kind {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
        guard let first = digits.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return .string(text) }
        // A number would lose its leading zero, so 0123 stays a word, such as a ticket or key id.
        if first == UInt8(ascii: "0"), digits.count > 1,
            digits.dropFirst().first != UInt8(ascii: ".")
        {
            return .string(text)
        }
        if let number = Int64(text) { return .integer(number) }
        let isNumber = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.eE".utf8.contains(byte)
        }
        if isNumber, let number = Double(text) { return .number(number) }
        return .string(text)
    }
}
