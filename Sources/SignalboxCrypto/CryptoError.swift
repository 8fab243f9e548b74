internal import COpenSSL

/// Why a cryptographic call failed; contains no key material and no data.
public struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
    /// `this is not a private key in PEM form`.
    public let message: String

    /// Makes an error.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }

    /// Checks a return value of OpenSSL; 1 is success.
    static func check(_ status: Int32, _ message: String) throws(CryptoError) {
        guard status == 1 else {
            // Errors left in this thread's queue would show up in a later call.
            ERR_clear_error()
            throw CryptoError(message)
        }
    }
}
