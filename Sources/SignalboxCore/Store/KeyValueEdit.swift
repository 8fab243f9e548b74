/// A change of a value that depends on the stored one, made atomically.
public enum KeyValueEdit: Sendable, Hashable {
    /// If the stored value is `expected` (nil: the key is missing), stores `value`, or removes the key if that is nil.
    case replace(expected: [UInt8]?, value: [UInt8]?, forMs: UInt64?)
    /// Adds to a counter, decimal text. The first addition makes it, and decides how long it is kept.
    case add(Int64, forMs: UInt64?)

    /// What an edit does to a key.
    public struct Effect: Sendable {
        /// The new value; nil removes the key.
        public var value: [UInt8]?
        /// How long it is kept from now; `.some(nil)`: it never expires. nil keeps the previous expiry.
        public var forMs: UInt64??
    }

    /// What the edit does to a key with this value; nil if it does not apply.
    public func effect(on stored: [UInt8]?) -> Effect? {
        switch self {
        case .replace(let expected, let value, let forMs):
            return stored == expected ? Effect(value: value, forMs: .some(forMs)) : nil
        case .add(let amount, let forMs):
            guard let stored else {
                return Effect(value: Array(String(amount).utf8), forMs: .some(forMs))
            }
            // Only digits and a sign; any other text is not a counter.
            guard let count = Int64(String(decoding: stored, as: UTF8.self)) else { return nil }
            let (sum, isTooLarge) = count.addingReportingOverflow(amount)
            return isTooLarge ? nil : Effect(value: Array(String(sum).utf8), forMs: nil)
        }
    }
}

/// What an edit did.
public struct KeyValueEdited: Sendable, Hashable {
    /// Whether the edit applied.
    public var isDone: Bool
    /// The value stored now; nil if the key is missing.
    public var value: [UInt8]?

    /// Makes a result.
    public init(isDone: Bool, value: [UInt8]?) {
        self.isDone = isDone
        self.value = value
    }
}
