/// What a plugin says of itself.
public struct PluginDescriptor: Sendable, Hashable {
    /// Absolute path of the library.
    public var path: String
    /// `com.example.apns`.
    public var id: String
    /// `1.4.2`.
    public var version: String
    /// One line.
    public var summary: String
    /// The contract that it was compiled with.
    public var abi: String
    /// Role ids.
    public var roles: [String]
    /// Service ids without which it cannot run.
    public var needs: [String]
    /// JSON Schema of its config; nil: takes none.
    public var configSchema: String?
}
