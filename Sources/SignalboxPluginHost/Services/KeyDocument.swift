internal import SignalboxCore
internal import SignalboxJSON

/// A JSON document with keys: a vendor's file, or a JWK set.
enum KeyDocument {
    /// The key at a pointer: text as it is, an object as JSON; nil if it is missing.
    ///
    /// In a JWK set, `/keys/KID` is the key with this `kid`, which comes before an index.
    static func part(of document: [UInt8], at pointer: String) -> [UInt8]? {
        guard let root = try? JSONValue.parse(document) else { return nil }
        let steps = pointer.split(separator: "/", omittingEmptySubsequences: false)
            .dropFirst().map { step in
                String(step.replacing("~1", with: "/").replacing("~0", with: "~"))
            }
        guard pointer.hasPrefix("/") else { return nil }
        if steps.count == 2, steps[0] == "keys", case .array(let keys) = root["keys"],
            let named = keys.first(where: { $0["kid"]?.string == steps[1] })
        {
            return bytes(named)
        }
        var value = root
        for step in steps {
            switch value {
            case .array(let items):
                guard let index = Int(step), items.indices.contains(index) else { return nil }
                value = items[index]
            default:
                guard let member = value[step] else { return nil }
                value = member
            }
        }
        return bytes(value)
    }

    private static func bytes(_ value: JSONValue) -> [UInt8]? {
        if let text = value.string { return Array(text.utf8) }
        if case .object = value { return Array(value.text.utf8) }
        return nil
    }
}
