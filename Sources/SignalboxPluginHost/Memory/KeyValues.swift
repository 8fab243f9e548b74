internal import CSignalbox
internal import SignalboxCore

/// Copies of a plugin's key-value pairs.
enum KeyValues {
    /// Copies pairs.
    static func copy(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [Attribute] {
        guard let start else { return [] }
        return (0..<count).map { Attribute(start[$0].key.text, start[$0].value.text) }
    }

    /// Copies overrides of a notification.
    static func copy(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [PayloadOverride] {
        guard let start else { return [] }
        return (0..<count).map {
            PayloadOverride(family: start[$0].key.text, json: start[$0].value.text)
        }
    }
}
