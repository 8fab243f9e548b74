internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway

/// Why deliveries wait: an operator paused their sender or route, or their sender is held.
struct TraceHold: Sendable {
    /// The sender; empty for any.
    var sender = ""
    /// The app; empty for any.
    var app = ""
    /// The paused route; empty for any.
    var route = ""
    /// `paused`, or why the sender is held: `down`, `misconfigured`, `throttled`.
    var cause: String
    /// From a closed list, or the reason for a pause; may be empty.
    var reason: String
    /// Who paused it; empty if it was not paused.
    var by = ""
    /// What the provider or the connection said; may be empty.
    var detail = ""
    var sinceUnixMs: UInt64

    init(_ key: LaneKey, _ hold: LaneHold) {
        (sender, app) = (key.name, key.app)
        (cause, reason, detail) = (hold.cause.rawValue, hold.reason, hold.said)
        sinceUnixMs = hold.sinceUnixMs
    }

    init(_ entry: PauseEntry) {
        switch entry.kind {
        case .sender: sender = entry.name
        case .route: route = entry.name
        }
        let note = entry.note
        (cause, reason, sinceUnixMs) = ("paused", note.reason, note.sinceUnixMs)
        by = note.by + (note.address.isEmpty ? "" : " (\(note.address))")
    }

    /// Whether it makes a delivery wait.
    func covers(_ target: HistoryTarget, on route: String) -> Bool {
        (sender.isEmpty || sender == target.sender) && (app.isEmpty || app == target.app)
            && (self.route.isEmpty || self.route == route)
    }

    var json: JSONValue {
        let texts = [
            ("sender", sender), ("app", app), ("route", route), ("cause", cause),
            ("reason", reason), ("by", by), ("detail", detail),
        ]
        return .object(
            texts.filter { !$0.1.isEmpty }.map { .init($0.0, .string($0.1)) } + [
                .init("since_unix_ms", .integer(Int64(clamping: sinceUnixMs)))
            ])
    }
}
