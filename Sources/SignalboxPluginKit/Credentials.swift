internal import CSignalbox

extension Host {
    /// Declares a credential that the host refreshes ahead of its expiry, one refresh at a time.
    ///
    /// Call it in `start`. `refresh` may block and use `call`; throwing `unreachable` or `timeout` means retry,
    /// `auth` or `invalid` means that the configuration is wrong.
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
    /// Throws `again` if it has no value yet.
    public func credential(_ name: String) throws(PluginError) -> String {
        guard let credentials else {
            throw PluginError(.unsupported, "the host offers no credentials")
        }
        let arena = Arena()
        var value = sbx_str()
        let status = credentials.pointee.get(raw, arena.text(name), &value)
        guard status == SBX_OK else {
            let why = status == SBX_E_AUTH ? "was refused at its refresh" : "is not available yet"
            throw PluginError(.init(code: status), "credential \(name) \(why)")
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
