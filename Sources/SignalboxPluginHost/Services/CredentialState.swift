/// A cached credential between refreshes, as a value: time comes from outside.
struct CredentialState: Sendable {
    /// What `get` answers.
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
    /// A provider refused it: not used again until there is another one.
    private var isRefused = false
    /// The plugin says that trying again is useless.
    private var isHopeless = false

    init(minIntervalMs: UInt64) { self.minIntervalMs = minIntervalMs }

    /// The current value.
    func answer(nowMs: UInt64) -> Answer {
        if let value, nowMs < expiresAtMs, !isRefused { return .value(value) }
        return isHopeless ? .refused : .again
    }

    /// When the next refresh is due.
    var refreshDueMs: UInt64 { refreshAtMs }

    /// A provider refused the value.
    ///
    /// False: it is too young to be replaced, and stays in use.
    mutating func refuse(nowMs: UInt64) -> Bool {
        if let last = lastSuccessMs, nowMs < last + minIntervalMs { return false }
        guard !isRefused else { return true }
        isRefused = true
        isHopeless = false
        refreshAtMs = nowMs
        return true
    }

    /// What it is made with has changed: due now, however young the value is, which serves until then.
    mutating func renew(nowMs: UInt64) {
        isHopeless = false
        failures = 0
        refreshAtMs = nowMs
    }

    /// A refresh brought a value.
    mutating func succeed(_ new: String, refreshMs: UInt64, expiresMs: UInt64, nowMs: UInt64) {
        value = new
        expiresAtMs = expiresMs == 0 ? .max : expiresMs
        lastSuccessMs = nowMs
        refreshAtMs = max(refreshMs, nowMs + max(minIntervalMs, 1_000))
        failures = 0
        isRefused = false
        isHopeless = false
    }

    /// A refresh failed; the old value serves until it expires.
    mutating func fail(isHopeless hopeless: Bool, nowMs: UInt64) {
        failures += 1
        isHopeless = hopeless
        // 1, 2, 4, ... 60 s. An account that was switched off may be switched on again without anybody
        // telling us.
        refreshAtMs = nowMs + (hopeless ? 300_000 : min(60_000, 1_000 << min(failures - 1, 6)))
    }
}
