internal import SignalboxJSON

/// Short questions about JSON that a plugin hands over.
enum JSONKinds {
    /// Whether a value is an object.
    static func isObject(_ value: JSONParser.Value) -> Bool {
        JSONParser.kind(of: value) == .object
    }

    /// Whether text is a JSON object, or empty.
    static func isObjectOrEmpty(_ text: String) -> Bool {
        if text.isEmpty { return true }
        return CallScope.run { _ in
            var copy = text
            let root = copy.withUTF8 { try? CallScope.current?.parse($0) }
            return root.map { isObject($0) } ?? false
        }
    }
}
