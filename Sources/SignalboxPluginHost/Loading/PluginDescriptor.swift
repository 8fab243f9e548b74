/// What a plugin says about itself.
public struct PluginDescriptor: Sendable, Hashable {
    /// Absolute path of the library.
    public var path: String
    /// `com.example.apns`.
    public var id: String
    /// `1.4.2`.
    public var version: String
    /// One line.
    public var summary: String
    /// The version of the contract it was compiled with.
    public var abi: String
    /// Role ids.
    public var roles: [String]
    /// Ids of services it cannot run without.
    public var needs: [String]
    /// JSON Schema of its config; nil if it takes none.
    public var configSchema: String?
    /// The lowest minor of the contract that it runs on.
    public var needsMinor: UInt32 = 0
    /// The SHA-256 that gateway.yaml requires, in hexadecimal; nil accepts any.
    public var wantedSHA256: String?
}
