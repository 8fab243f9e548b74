import SignalboxPluginKit

/// When devices were cleaned up: a dry run that began before must not bring one back.
///
/// Kept in the gateway's store, since the end of the dry run may come to another gateway, or after a restart.
struct Cleanups: Sendable {
    let host: Host

    /// Notes a cleanup of a device, or without a token of all of a user's.
    func note(
        _ app: Config.App, user: String, token: String,
        then done: @escaping Host.Later<Void>
    ) {
        let now = Array(String(host.nowUnixMs).utf8)
        host.set(
            Self.key(app, user: user, token: token), now, ttlMs: DryRuns.windowMs, then: done)
    }

    /// Whether a device was cleaned up since; nil if the store failed.
    func isCleaned(
        _ device: Device, _ app: Config.App, sinceMs: UInt64,
        then done: @escaping @Sendable (Bool?) -> Void
    ) {
        let keys = ["", device.token].map { Self.key(app, user: device.user, token: $0) }
        let gather = Gather<Bool>(count: keys.count) { found in
            done(found.contains(true) ? true : found.contains(nil) ? nil : false)
        }
        for (index, key) in keys.enumerated() {
            host.value(key) { result in
                guard case .success(let bytes) = result else { return gather.set(index, nil) }
                let at = bytes.flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
                gather.set(index, at.map { $0 >= sinceMs } ?? false)
            }
        }
    }

    private static func key(_ app: Config.App, user: String, token: String) -> String {
        var print = Fingerprint()
        for text in [app.mobileAppID.lowercased(), user, token] { print.add(text) }
        return "cleanup/\(print.text)"
    }
}
