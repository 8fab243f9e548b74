internal import Glibc
internal import NIOCore

/// Why a server cannot listen.
public struct ListenRefusal: Sendable, CustomStringConvertible {
    /// `Address already in use`.
    public let description: String
    /// Whether it may pass by itself: somebody else has the address, or the machine has it not yet.
    public let isTemporary: Bool

    /// Takes what `HTTPServer.start` has thrown.
    public init(_ error: any Error) {
        let code = (error as? IOError)?.errnoCode
        description = code.map { String(cString: strerror($0)) } ?? "\(error)"
        isTemporary =
            code.map { [EADDRINUSE, EADDRNOTAVAIL].contains($0) }
            ?? (error as? UnixSocketFile.Refusal)?.isTemporary ?? false
    }
}
