/// A change of a value that depends on what is stored, made as one step whoever else changes it.
public enum KeyValueEdit: Sendable, Hashable {
    /// Stores `value`, or removes the key if it is nil, provided that `expected` is stored; nil: nothing is.
    case replace(expected: [UInt8]?, value: [UInt8]?, forMs: UInt64?)
    /// Adds to a counter, decimal text. The first addition makes it, and decides how long it is kept.
    case add(Int64, forMs: UInt64?)

    /// What becomes of a key.
    public struct Effect: Sendable {
        /// What is stored then; nil: nothing.
        public var value: [UInt8]?
        /// How long from now; nil inside: without end. nil: as long as before.
        public var forMs: UInt64??
    }

    /// What becomes of a key with this value; nil: the edit does not apply to it.
    public func effect(on stored: [UInt8]?) -> Effect? {
        switch self {
        case .replace(let expected, let value, let forMs):
            return stored == expected ? Effect(value: value, forMs: .some(forMs)) : nil
        case .add(let amount, let forMs):
            guard let stored else {
                return Effect(value: Array(String(amount).utf8), forMs: .some(forMs))
            }
            // Digits and a sign alone; anything else is somebody's text.
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
    /// What is stored now; nil: nothing.
    public var value: [UInt8]?

    /// Makes a result.
    public init(isDone: Bool, value: [UInt8]?) {
        self.isDone = isDone
        self.value = value
    }
}
