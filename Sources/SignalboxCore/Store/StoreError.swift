/// Why a store cannot be opened, and how to fix it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// Stable and listed in docs/errors.md: `store-damaged`.
    public let code: String
    /// Names the file or database, the fault and the fix.
    public let message: String

    /// Makes an error.
    public init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
