/// A name or token as a key: equal if its bytes are.
///
/// Swift calls texts equal that Unicode calls equivalent: "é" as one character or as two, the sign for kelvin and "K".
/// Stores, sources and providers compare bytes, so these are names of different users.
public struct ExactText: Sendable, Hashable {
    /// The text.
    public let text: String

    /// Makes a key.
    public init(_ text: String) { self.text = text }

    /// Whether the bytes are equal.
    public static func == (one: ExactText, other: ExactText) -> Bool {
        one.text.hasSameBytes(as: other.text)
    }

    /// Hashes the bytes and their end.
    public func hash(into hasher: inout Hasher) {
        unsafe text.utf8.span.withUnsafeBufferPointer {
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        hasher.combine(UInt8.max)
    }
}

extension String {
    /// Whether both have the same bytes, which `==` does not ask: see `ExactText`.
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return unsafe utf8.span.withUnsafeBufferPointer { one in
            unsafe other.utf8.span.withUnsafeBufferPointer { unsafe one.elementsEqual($0) }
        }
    }
}
