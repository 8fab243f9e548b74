import SignalboxPluginKit
import Synchronization

/// Dry runs that are under way, by device: a device that is registered again meanwhile needs no second one, and
/// both registrations get its result.
///
/// The gateway leaves the second event out, since both have the same key; if the first event was never stored, the
/// second makes the dry run. In memory alone: after a restart a registration makes a dry run of its own.
final class DryRuns: Sendable {
    /// As long as the gateway remembers a key.
    static let windowMs: UInt64 = 7 * 86_400_000
    /// A dry run without a result for so long is not waited for any more.
    private static let pendingMs: UInt64 = 3_600_000
    private static let devicesMax = 10_000
    private static let joinedMax = 100

    private struct DryRun {
        /// Of the first registration; in the key, since the next dry run of the device is another one.
        let requestID: String
        let sinceMs: UInt64
        /// Registrations that came later.
        var joined: [RegistrationOutcome] = []
    }

    private struct State {
        var pending: [String: DryRun] = [:]
        /// Registrations that have their result from an earlier one's dry run.
        var told: Set<String> = []
    }

    private let state = Mutex(State())
    private let nowUnixMs: @Sendable () -> UInt64

    init(nowUnixMs: @escaping @Sendable () -> UInt64) { self.nowUnixMs = nowUnixMs }

    /// The key of the event that makes a registration's dry run, equal for registrations that share one.
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

    /// A dry run has ended: the registrations that get its result.
    func ended(_ device: Device, _ outcome: RegistrationOutcome) -> [RegistrationOutcome] {
        let name = Self.name(outcome.app.mobileAppID, user: device.user, token: device.token)
        return state.withLock { state in
            let joined = state.pending.removeValue(forKey: name)?.joined ?? []
            let others = joined.filter { $0.requestID != outcome.requestID }
            if state.told.count >= Self.devicesMax { state.told = [] }
            // It was told already if its own event was taken all the same.
            let own = state.told.remove(outcome.requestID) == nil ? [outcome] : []
            state.told.formUnion(others.map(\.requestID))
            return own + others
        }
    }

    private static func name(_ app: String, user: String, token: String) -> String {
        [app.lowercased(), user, token].map { "\($0.utf8.count):\($0)" }.joined()
    }
}
