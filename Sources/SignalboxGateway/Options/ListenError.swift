/// An address that the gateway cannot listen on.
public struct ListenError: Error, Sendable, CustomStringConvertible {
    package let message: String
    /// Whether it may pass without a change of the file: the address is in use, or the machine does not have it yet.
    public let isTemporary: Bool

    package init(message: String, isTemporary: Bool = false) {
        self.message = message
        self.isTemporary = isTemporary
    }

    /// Names the address and the reason.
    public var description: String { message }
}
