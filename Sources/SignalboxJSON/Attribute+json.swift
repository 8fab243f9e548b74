public import SignalboxCore

extension [Attribute] {
    /// `[["key","value"],...]`, as stores keep it.
    public var jsonText: String {
        JSONValue.array(map { [.string($0.key), .string($0.value)] }).text
    }

    /// Reads what `jsonText` wrote; anything else has no attributes.
    public init(jsonText text: String) {
        self.init(text.isEmpty ? nil : try? JSONValue.parse(text))
    }

    /// Reads a value that `jsonText` wrote.
    public init(_ json: JSONValue?) {
        guard case .array(let items) = json else {
            self = []
            return
        }
        self = items.map { Attribute($0[0]?.string ?? "", $0[1]?.string ?? "") }
    }
}
