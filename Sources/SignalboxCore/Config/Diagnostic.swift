/// One error in a configuration: its position, a stable code, and how to fix it.
public struct Diagnostic: Error, Sendable, Hashable, CustomStringConvertible {
    /// Position of the error.
    public var position: SourcePosition
    /// Stable and listed in docs/errors.md: `unknown-key`.
    public var code: String
    /// Names the thing and the fix; holds no secret.
    public var message: String

    /// Makes a diagnostic.
    public init(_ code: String, at position: SourcePosition, _ message: String) {
        self.code = code
        self.position = position
        self.message = message
    }

    /// `gateway.yaml:14:9: unknown-plugin: ...`.
    public var description: String {
        "\(position.file):\(position.line):\(position.column): \(code): \(message)"
    }
}
