package import SignalboxCore

/// A file that a value was read from: `${file:path}`.
package struct FilledFile: Sendable {
    /// The resolved path.
    package let path: String
    /// The path as written, if a part of it comes from a variable or file: that part must never be shown.
    package let written: String?
    /// Whether it holds no secret: certificates and public keys.
    package let isPublic: Bool
    /// The position of the value.
    package let position: SourcePosition

    init(_ path: String, written: String?, text: String, at position: SourcePosition) {
        (self.path, self.written, self.position) = (path, written, position)
        isPublic = Self.isPublic(text)
    }

    /// PEM without a private key, or JWKS without private parts (`d`, or `k` of a shared secret).
    private static func isPublic(_ text: String) -> Bool {
        if text.contains("-----BEGIN ") { return !text.contains("PRIVATE KEY") }
        return text.contains("\"kty\"") && !text.contains("\"d\"") && !text.contains("\"k\"")
    }
}
