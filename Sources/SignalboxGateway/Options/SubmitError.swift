/// Why the gateway did not accept an event of its program.
public struct SubmitError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public enum Kind: Sendable {
        /// An unknown source, or an event that is malformed.
        case invalid
        /// Over a limit in docs/limits.md.
        case tooLarge
        /// Too many deliveries are waiting; try again later.
        case again
        /// The disk failed; nothing was stored.
        case unreachable
        /// The gateway drains or has stopped.
        case stopping
    }

    /// The kind of fault.
    public let kind: Kind
    /// The message for people.
    public let message: String

    package init(kind: Kind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
