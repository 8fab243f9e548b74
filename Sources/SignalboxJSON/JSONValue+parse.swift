public import SignalboxCore

extension JSONValue {
    /// Parses JSON text, at most 64 levels deep. Look-ups find the first of duplicate members.
    public static func parse(_ bytes: [UInt8]) throws(JSONFault) -> JSONValue {
        guard let parser = JSONParser() else {
            throw JSONFault(message: "there is no memory for it")
        }
        let result = bytes.withUnsafeBufferPointer { buffer -> Result<JSONValue, JSONFault> in
            do throws(JSONFault) {
                return .success(JSONValue(try parser.parse(buffer)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Parses JSON text.
    public static func parse(_ text: String) throws(JSONFault) -> JSONValue {
        try parse(Array(text.utf8))
    }

    /// Copies a value out of its document.
    public init(_ value: JSONParser.Value) {
        switch JSONParser.kind(of: value) {
        case .null: self = .null
        case .boolean: self = .bool(JSONParser.boolean(value) ?? false)
        case .integer: self = .integer(JSONParser.integer(value) ?? 0)
        case .number: self = .number(Self.text(JSONParser.text(of: value)))
        case .string: self = .string(Self.text(JSONParser.string(value)))
        case .array:
            var elements: [JSONValue] = []
            var cursor = JSONParser.first(value)
            while let next = Self.step(&cursor) {
                elements.append(JSONValue(next.value))
            }
            self = .array(elements)
        case .object:
            var members: [Member] = []
            var cursor = JSONParser.first(value)
            while let next = Self.step(&cursor) {
                members.append(Member(Self.text(next.key), JSONValue(next.value)))
            }
            self = .object(members)
        }
    }

    private static func step(
        _ cursor: inout JSONParser.Cursor?
    ) -> (key: UnsafeBufferPointer<UInt8>, value: JSONParser.Value)? {
        guard var walk = cursor else { return nil }
        defer { cursor = walk }
        return JSONParser.next(&walk)
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
