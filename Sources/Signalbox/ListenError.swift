/// An address that the gateway cannot listen on.
public struct ListenError: Error, Sendable, CustomStringConvertible {
    let message: String
    /// Whether it may pass without a change of the file: somebody else has the address, or the machine has it not yet.
    public var isTemporary = false

    /// Names the address and the reason.
    public var description: String { message }
}
