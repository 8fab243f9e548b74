package import SignalboxCore

extension JSONValue {
    /// The values of a list member; empty if there is no such list.
    package func items(_ key: String) -> [JSONValue] {
        if case .array(let items)? = self[key] { items } else { [] }
    }

    /// The texts of a list.
    package var texts: [String] {
        if case .array(let items) = self { items.compactMap(\.string) } else { [] }
    }
}
