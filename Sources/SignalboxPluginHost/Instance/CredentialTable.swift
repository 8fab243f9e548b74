internal import CSignalbox
internal import Synchronization

/// The credentials of one instance.
final class CredentialTable: Sendable {
    typealias Refresh =
        @convention(c) (OpaquePointer?, sbx_str, UnsafeMutablePointer<sbx_error>?) -> sbx_status

    private struct Entry {
        var state: CredentialState
        var refresh: Refresh
        /// `set` was called since the refresh began.
        var wasSet = false
    }

    /// Smaller backward clock steps are ignored: a provider would hardly notice them.
    private static let stepMs: UInt64 = 10_000

    private let entries = Mutex<[String: Entry]>([:])
    private let lastLookMs = Mutex<UInt64>(0)

    /// Declares a credential; false if the name is taken.
    func define(_ name: String, minIntervalMs: UInt64, refresh: @escaping Refresh) -> Bool {
        entries.withLock { entries in
            guard entries[name] == nil else { return false }
            entries[name] = Entry(
                state: CredentialState(minIntervalMs: minIntervalMs), refresh: refresh)
            return true
        }
    }

    /// Sets a new value; false if the credential is not defined.
    func set(
        _ name: String, value: String, refreshMs: UInt64, expiresMs: UInt64, nowMs: UInt64
    ) -> Bool {
        entries.withLock { entries in
            guard entries[name] != nil else { return false }
            entries[name]?.state.succeed(
                value, refreshMs: refreshMs, expiresMs: expiresMs, nowMs: nowMs)
            entries[name]?.wasSet = true
            return true
        }
    }

    /// The result of `get`; nil if the credential is not defined.
    func answer(_ name: String, nowMs: UInt64) -> CredentialState.Answer? {
        entries.withLock { $0[name]?.state.answer(nowMs: nowMs) }
    }

    /// Records that a provider refused a credential; an empty name means the only one, if there is just one.
    func refuse(_ name: String, nowMs: UInt64) {
        entries.withLock { entries in
            let names = name.isEmpty && entries.count == 1 ? Array(entries.keys) : [name]
            for name in names { _ = entries[name]?.state.refuse(nowMs: nowMs) }
        }
    }

    /// Makes those due whose last refresh failed.
    func retryFailed(nowMs: UInt64) {
        entries.withLock { entries in
            for name in entries.keys { entries[name]?.state.retry(nowMs: nowMs) }
        }
    }

    /// Makes all credentials due, because the secrets they are made from have changed.
    func renewAll(nowMs: UInt64) {
        entries.withLock { entries in
            for name in entries.keys { entries[name]?.state.renew(nowMs: nowMs) }
        }
    }

    /// Makes all credentials due if the clock went back since the last look; whether it did.
    func lookAtClock(nowMs: UInt64) -> Bool {
        let before = lastLookMs.withLock { last in
            defer { last = nowMs }
            return last
        }
        guard nowMs + Self.stepMs < before else { return false }
        return entries.withLock { entries in
            for name in entries.keys { entries[name]?.state.clockWentBack(nowMs: nowMs) }
            return !entries.isEmpty
        }
    }

    /// Credentials whose refresh is due.
    func due(nowMs: UInt64) -> [(String, Refresh)] {
        entries.withLock { entries in
            var due: [(String, Refresh)] = []
            for (name, entry) in entries where entry.state.refreshDueMs <= nowMs {
                due.append((name, entry.refresh))
                entries[name]?.wasSet = false
            }
            return due
        }
    }

    /// When the next refresh is due.
    var nextMs: UInt64? {
        entries.withLock { $0.values.map(\.state.refreshDueMs).min() }
    }

    /// Records the end of a refresh. Returns whether there is a new value.
    func finish(_ name: String, status: sbx_status, nowMs: UInt64) -> Bool {
        entries.withLock { entries in
            if status == SBX_OK, entries[name]?.wasSet == true { return true }
            let isHopeless = status == SBX_E_AUTH || status == SBX_E_INVALID
            entries[name]?.state.fail(isHopeless: isHopeless, nowMs: nowMs)
            return false
        }
    }
}
