/// An address that the gateway cannot listen on.
public struct ListenError: Error, Sendable, CustomStringConvertible {
    let message: String

    /// Names the address and the reason.
    public var description: String { message }
}
