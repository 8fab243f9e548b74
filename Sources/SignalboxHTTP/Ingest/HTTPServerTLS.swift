internal import Synchronization

/// A server's identity for TLS: a certificate chain with its key, which were found to fit.
public struct HTTPServerTLS: Sendable {
    let context: TLSContext

    /// Takes PEM. With `clientRootsPEM`, a client may send a certificate, which must chain to one of these.
    ///
    /// Throws if one part is unusable or does not fit the others.
    public init(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], clientRootsPEM: [UInt8]? = nil
    ) throws(Unusable) {
        do throws(TLSContext.Part) {
            context = try TLSContext.server(
                alpn: TLSContext.ALPN.http1,
                identity: TLSIdentity(chainPEM: certificateChainPEM, keyPEM: privateKeyPEM),
                clientRoots: clientRootsPEM)
        } catch {
            let part: Unusable.Part =
                switch error {
                case .chain: .certificate
                case .key: .key
                case .pair: .pair
                case .roots: .clientRoots
                case .memory: .other
                }
            throw Unusable(part: part, description: Self.text(error))
        }
    }

    /// The part that cannot be used, and why; holds no secret.
    public struct Unusable: Error, CustomStringConvertible {
        /// What is wrong.
        public enum Part: Sendable {
            case certificate, key
            /// Certificate and key do not belong together.
            case pair
            case clientRoots, other
        }
        /// Which part it is.
        public let part: Part
        /// Why it cannot be used.
        public let description: String
    }

    private static func text(_ part: TLSContext.Part) -> String {
        switch part {
        case .chain: "the certificate is not PEM, or too weak for the system's OpenSSL"
        case .key: "the key is not PEM, or needs a password"
        case .pair: "the certificate does not match the key"
        case .roots: "the clients' CA is not PEM"
        case .memory: "TLS cannot be set up: no memory"
        }
    }
}

/// The TLS of a listener, which may change while it runs: open connections keep theirs.
public final class ListenerTLS: Sendable {
    private let current: Mutex<HTTPServerTLS?>

    /// Begins with an identity; nil for plain HTTP.
    public init(_ first: HTTPServerTLS? = nil) { current = Mutex(first) }

    /// Sets the identity for new connections; nil for plain HTTP.
    public func replace(with next: HTTPServerTLS?) { current.withLock { $0 = next } }

    var context: TLSContext? { current.withLock { $0?.context } }
}
