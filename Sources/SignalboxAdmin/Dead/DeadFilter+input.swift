internal import SignalboxCore

extension DeadFilter {
    /// The dead letters that the input of a call selects.
    init(_ input: AdminInput) {
        self.init()
        if case .array(let items) = input["ids"] {
            ids = items.compactMap { $0.integer.map { UInt64(clamping: $0) } }
        }
        sender = input.text("sender")
        route = input.text("route")
        reason = input.text("reason")
        user = input.text("user")
        app = input.text("app")
        beforeUnixMs = input.number("before")
        sinceUnixMs = input.number("since")
    }
}

extension AdminInput {
    /// Whether it selects any dead letters: a mistake must not empty the table.
    package var selectsDeadLetters: Bool {
        flag("all")
            || gives(["ids", "sender", "route", "reason", "user", "app", "before", "since"])
    }
}
