import SignalboxPluginKit
import Synchronization

/// Pending dry runs by device: a device that is registered again meanwhile needs no second dry run, and
/// both registrations get its result.
///
/// The gateway drops the second event as a duplicate, because both have the same key. If the first event was never
/// stored, the second makes the dry run. Only in memory: after a restart a registration makes its own dry run.
final class DryRuns: Sendable {
    /// How long the gateway remembers a key.
    static let windowMs: UInt64 = 7 * 86_400_000
    /// How long to wait for the result of a dry run.
    private static let pendingMs: UInt64 = 3_600_000
    private static let devicesMax = 10_000
    private static let joinedMax = 100

    private struct DryRun {
        /// Id of the first registration; part of the key, because the device's next dry run needs a new key.
        let requestID: String
        let sinceMs: UInt64
        /// Registrations that came later.
        var joined: [RegistrationOutcome] = []
    }

    private struct State {
        var pending: [String: DryRun] = [:]
        /// Registrations that got their result from an earlier dry run.
        var told: Set<String> = []
    }

    private let state = Mutex(State())
    private let nowUnixMs: @Sendable () -> UInt64

    init(nowUnixMs: @escaping @Sendable () -> UInt64) { self.nowUnixMs = nowUnixMs }

    /// Dedupe key of the dry-run event of a registration; equal for registrations that share a dry run.
    func key(of one: Registration, _ outcome: RegistrationOutcome) -> String {
        let name = Self.name(one.app.mobileAppID, user: one.user, token: one.token)
        let now = nowUnixMs()
        let requestID = state.withLock { state in
            if let known = state.pending[name], known.joined.count < Self.joinedMax,
                now < known.sinceMs + Self.pendingMs
            {
                state.pending[name]?.joined.append(outcome)
                return known.requestID
            }
            if state.pending.count >= Self.devicesMax { state.pending = [:] }
            state.pending[name] = DryRun(requestID: one.requestID, sinceMs: now)
            return one.requestID
        }
        return "dry run \(requestID)"
    }

    /// Ends a dry run. Returns the registrations that get its result.
    func ended(_ device: Device, _ outcome: RegistrationOutcome) -> [RegistrationOutcome] {
        let name = Self.name(outcome.app.mobileAppID, user: device.user, token: device.token)
        return state.withLock { state in
            let joined = state.pending.removeValue(forKey: name)?.joined ?? []
            let others = joined.filter { $0.requestID != outcome.requestID }
            if state.told.count >= Self.devicesMax { state.told = [] }
            // It has its result already if its own event was accepted nevertheless.
            let own = state.told.remove(outcome.requestID) == nil ? [outcome] : []
            state.told.formUnion(others.map(\.requestID))
            return own + others
        }
    }

    private static func name(_ app: String, user: String, token: String) -> String {
        [app.lowercased(), user, token].map { "\($0.utf8.count):\($0)" }.joined()
    }
}
