/// Why a store cannot be opened, and what to do about it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// Stable and listed in docs/errors.md: `store-damaged`.
    public let code: String
    /// Names the file, the fault and what to do.
    public let message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
