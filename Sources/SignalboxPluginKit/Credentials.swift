internal import CSignalbox
internal import Synchronization

/// A new value of a credential.
public struct Credential: Sendable {
    /// The value.
    ///
    /// Never log it.
    public var value: String
    /// When a newer one is wanted, in Unix milliseconds.
    public var refreshUnixMs: UInt64
    /// When it is worthless, in Unix milliseconds; 0: never.
    public var expiresUnixMs: UInt64

    /// Makes a value.
    public init(value: String, refreshUnixMs: UInt64, expiresUnixMs: UInt64) {
        self.value = value
        self.refreshUnixMs = refreshUnixMs
        self.expiresUnixMs = expiresUnixMs
    }
}

/// What to call when a credential is due.
final class Refreshers: Sendable {
    typealias Refresh = @Sendable () throws(PluginError) -> Credential
    private let known = Mutex<[String: Refresh]>([:])

    func set(_ name: String, _ refresh: @escaping Refresh) {
        known.withLock { $0[name] = refresh }
    }

    func find(_ name: String) -> Refresh? { known.withLock { $0[name] } }

    func removeAll() { known.withLock { $0 = [:] } }
}

extension Host {
    /// Declares a credential that the host refreshes ahead of its expiry, one refresh at a time.
    ///
    /// Call it in `start`. `refresh` may block and use `call`; throwing `unreachable` or `timeout` means try
    /// again, `auth` or `invalid` means the set-up is wrong.
    public func defineCredential(
        _ name: String, minIntervalMs: UInt64,
        refresh: @escaping @Sendable () throws(PluginError) -> Credential
    ) throws(PluginError) {
        guard let credentials else {
            throw PluginError(.unsupported, "the host offers no credentials")
        }
        refreshers.set(name, refresh)
        let arena = Arena()
        let status = credentials.pointee.define(raw, arena.text(name), minIntervalMs) {
            instance, name, error in
            guard let box = InstanceBox.from(instance) else { return SBX_E_INTERNAL }
            return box.host.refresh(name.text, error)
        }
        guard status == SBX_OK else { throw PluginError(code: status) }
    }

    /// The current value.
    ///
    /// Throws `again` if there is none yet.
    public func credential(_ name: String) throws(PluginError) -> String {
        guard let credentials else {
            throw PluginError(.unsupported, "the host offers no credentials")
        }
        let arena = Arena()
        var value = sbx_str()
        let status = credentials.pointee.get(raw, arena.text(name), &value)
        guard status == SBX_OK else {
            throw PluginError(.init(code: status), "the credential \(name) is not there")
        }
        return value.text
    }

    private func refresh(_ name: String, _ error: UnsafeMutablePointer<sbx_error>?) -> sbx_status {
        guard let credentials, let refresh = refreshers.find(name) else { return SBX_E_NOT_FOUND }
        do throws(PluginError) {
            let new = try refresh()
            let arena = Arena()
            return credentials.pointee.set(
                raw, arena.text(name), arena.text(new.value), new.refreshUnixMs, new.expiresUnixMs)
        } catch let fault {
            return fault.report(to: error)
        }
    }
}
