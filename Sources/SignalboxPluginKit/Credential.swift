internal import Synchronization

/// A new value of a credential.
public struct Credential: Sendable {
    /// The value.
    ///
    /// Never log it.
    public var value: String
    /// When it should be refreshed, in Unix milliseconds.
    public var refreshUnixMs: UInt64
    /// When it expires, in Unix milliseconds; 0 for never.
    public var expiresUnixMs: UInt64

    /// Makes a value.
    public init(value: String, refreshUnixMs: UInt64, expiresUnixMs: UInt64) {
        self.value = value
        self.refreshUnixMs = refreshUnixMs
        self.expiresUnixMs = expiresUnixMs
    }
}

/// The functions to call when a credential is due.
final class Refreshers: Sendable {
    typealias Refresh = @Sendable () throws(PluginError) -> Credential
    private let known = Mutex<[String: Refresh]>([:])

    func set(_ name: String, _ refresh: @escaping Refresh) {
        known.withLock { $0[name] = refresh }
    }

    func find(_ name: String) -> Refresh? { known.withLock { $0[name] } }

    func removeAll() { known.withLock { $0 = [:] } }
}
