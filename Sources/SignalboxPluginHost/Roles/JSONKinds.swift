internal import SignalboxJSON

/// Checks of JSON that a plugin hands over.
enum JSONKinds {
    /// Whether a value is an object.
    static func isObject(_ value: JSONParser.Value) -> Bool {
        JSONParser.kind(of: value) == .object
    }

    /// Whether text is a JSON object, or empty.
    static func isObjectOrEmpty(_ text: String) -> Bool {
        text.isEmpty || object(text) != nil
    }

    /// A JSON object, parsed once for all its readers; nil if the text is not one.
    static func object(_ text: UnsafeBufferPointer<UInt8>) -> JSONDocument? {
        CallScope.run { _ in
            guard let document = try? CallScope.current?.document(text), isObject(document.root)
            else { return nil }
            return document
        }
    }

    /// A JSON object, parsed once for all its readers; nil if the text is not one.
    static func object(_ text: String) -> JSONDocument? {
        var text = text
        return text.withUTF8 { object($0) }
    }
}
