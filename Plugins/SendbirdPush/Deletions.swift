package import SignalboxPluginKit

/// Messages that were deleted. Webhooks come in any order, and to any gateway: a message that comes after its deletion
/// gives no push.
package struct Deletions: Sendable {
    /// How long a message may come late.
    private static let keptMs: UInt64 = 3_600_000

    private let host: Host

    /// Those of an instance.
    package init(_ host: Host) { self.host = host }

    /// Notes a deletion; it is durable once `done` gets a success.
    package func note(_ id: Int64, then done: @escaping Host.Later<Void>) {
        host.set(Self.key(id), Array("1".utf8), ttlMs: Self.keptMs, then: done)
    }

    /// Whether a message was deleted; in doubt it was not.
    package func isNoted(_ id: Int64, then done: @escaping @Sendable (Bool) -> Void) {
        host.value(Self.key(id)) { result in
            guard case .success(.some) = result else { return done(false) }
            done(true)
        }
    }

    private static func key(_ id: Int64) -> String { "deleted/\(id)" }
}
