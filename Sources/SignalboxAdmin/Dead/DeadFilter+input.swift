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

    /// Whether the input selects anything: a mistake must not empty the table.
    static func isMeant(by input: AdminInput) -> Bool {
        input.flag("all")
            || input.gives([
                "ids", "sender", "route", "reason", "user", "app", "before", "since",
            ])
    }
}
