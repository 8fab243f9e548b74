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
        refreshers.set(name, refresh)
        let arena = Arena()
        try explained { _ in
            services.credential.define?(raw, arena.text(name), minIntervalMs) {
                instance, name, error in
                guard let box = InstanceBox.from(instance) else { return SBX_E_INTERNAL }
                return box.host.refresh(name.text, error)
            }
        }
    }

    /// The current value.
    ///
    /// Throws `again` if it has no value yet.
    public func credential(_ name: String) throws(PluginError) -> String {
        let arena = Arena()
        var value = sbx_str()
        let status = services.credential.get?(raw, arena.text(name), &value)
        var why: String {
            status == SBX_E_AUTH ? "was refused at its refresh" : "is not available yet"
        }
        try check("credential \(name) \(why)") { status }
        return value.text
    }

    private func refresh(_ name: String, _ error: UnsafeMutablePointer<sbx_error>?) -> sbx_status {
        guard let refresh = refreshers.find(name) else { return SBX_E_NOT_FOUND }
        return reporting(to: error) { () throws(PluginError) in
            let (new, arena) = (try refresh(), Arena())
            try explained { _ in
                services.credential.set?(
                    raw, arena.text(name), arena.text(new.value), new.refreshUnixMs,
                    new.expiresUnixMs)
            }
        }
    }
}
