/// A cached credential and its refresh times. A value type: the time is passed in.
struct CredentialState: Sendable {
    /// The result of `get`.
    enum Answer: Equatable {
        case value(String)
        case again
        case refused
    }

    private let minIntervalMs: UInt64
    private var value: String?
    private var refreshAtMs: UInt64 = 0
    private var expiresAtMs: UInt64 = .max
    private var lastSuccessMs: UInt64?
    private var failures: UInt64 = 0
    /// A provider refused the value; it is not used until there is a new one.
    private var isRefused = false
    /// The plugin said that retrying is useless.
    private var isHopeless = false

    init(minIntervalMs: UInt64) { self.minIntervalMs = minIntervalMs }

    /// The current value.
    func answer(nowMs: UInt64) -> Answer {
        if let value, nowMs < expiresAtMs, !isRefused { return .value(value) }
        return isHopeless ? .refused : .again
    }

    /// When the next refresh is due.
    var refreshDueMs: UInt64 { refreshAtMs }

    /// Records that a provider refused the value.
    ///
    /// False if it is too new to be replaced; it stays in use.
    mutating func refuse(nowMs: UInt64) -> Bool {
        if let last = lastSuccessMs, nowMs < last + minIntervalMs { return false }
        guard !isRefused else { return true }
        isRefused = true
        isHopeless = false
        refreshAtMs = nowMs
        return true
    }

    /// Makes a refresh due now, however new the value is, because the secrets it is made from have changed.
    /// The value serves until then.
    mutating func renew(nowMs: UInt64) {
        isHopeless = false
        failures = 0
        refreshAtMs = nowMs
    }

    /// Makes a refresh due now if the last one failed: the cause may have been fixed.
    mutating func retry(nowMs: UInt64) {
        guard failures > 0 else { return }
        refreshAtMs = nowMs
    }

    /// The clock was ahead and went back: a value that was made then names times to come, which providers refuse, and
    /// the waits that began then would last as long as the clock was ahead. The value serves until it is renewed.
    mutating func clockWentBack(nowMs: UInt64) {
        lastSuccessMs = nil
        renew(nowMs: nowMs)
    }

    /// Stores the value of a successful refresh.
    mutating func succeed(_ new: String, refreshMs: UInt64, expiresMs: UInt64, nowMs: UInt64) {
        value = new
        expiresAtMs = expiresMs == 0 ? .max : expiresMs
        lastSuccessMs = nowMs
        refreshAtMs = max(refreshMs, nowMs + max(minIntervalMs, 1_000))
        failures = 0
        isRefused = false
        isHopeless = false
    }

    /// Records a failed refresh; the old value serves until it expires.
    mutating func fail(isHopeless hopeless: Bool, nowMs: UInt64) {
        failures += 1
        isHopeless = hopeless
        // 1, 2, 4, ... 60 s. If hopeless 30, 60, ... 300 s: a refusal may have been a slip of the token endpoint, and a
        // disabled account may be enabled again without notice.
        let doublings = min(failures - 1, 6)
        let (first, most): (UInt64, UInt64) = hopeless ? (30_000, 300_000) : (1_000, 60_000)
        refreshAtMs = nowMs + min(most, first << doublings)
    }
}
