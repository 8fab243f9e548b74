/// Why the gateway did not accept an event of its program.
public struct SubmitError: Error, Sendable, CustomStringConvertible {
    /// What kind of fault.
    public enum Kind: Sendable {
        /// An unknown source, or an event that is malformed.
        case invalid
        /// Over a limit of docs/limits.md.
        case tooLarge
        /// Too many deliveries wait; try again later.
        case again
        /// The disk failed; nothing was kept.
        case unreachable
        /// The gateway drains or has stopped.
        case stopping
    }

    /// What kind of fault.
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
