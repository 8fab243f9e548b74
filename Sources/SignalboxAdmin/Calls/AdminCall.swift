/// A call of the admin listener: what its server, its client and the description of the API share.
package struct AdminCall: Sendable {
    /// What a call does, which decides who may make it and whether it is recorded.
    enum Effect: Sendable {
        /// Shows something.
        case shows
        /// Shows otherwise secret data.
        case exports
        /// Takes its parameters in a body, and changes nothing.
        case asks
        /// Changes what runs or is stored.
        case changes
    }

    /// `/dead`; with `/*` at its end, everything below without a path of its own.
    let path: String
    let effect: Effect
    /// What it does, in a sentence.
    let about: String
    /// Its parameters, of the query or the JSON body; nil for a body of its own kind.
    let parameters: [String: AdminInput.Kind]?
    /// The only query that a POST takes, such as `check` for `?check`; nil for none.
    let `switch`: String?
    /// How long the client waits for the answer.
    let timeoutMs: UInt32

    /// `GET`, which includes HEAD, or `POST`.
    var method: String { effect == .shows || effect == .exports ? "GET" : "POST" }
    /// Whether calls are recorded in the audit.
    var isRecorded: Bool { effect == .changes || effect == .exports }

    init(
        _ effect: Effect, _ path: String, _ about: String,
        _ parameters: [String: AdminInput.Kind]? = [:], switch: String? = nil,
        timeoutMs: UInt32 = 10_000
    ) {
        self.path = path
        self.effect = effect
        self.about = about
        self.parameters = parameters
        self.switch = `switch`
        self.timeoutMs = timeoutMs
    }
}

extension AdminCall {
    static let livez = AdminCall(.shows, "/livez", "Says that the process runs.", nil)
    static let healthz = AdminCall(.shows, "/healthz", "The same as /livez.", nil)
    static let readyz = AdminCall(
        .shows, "/readyz", "Says whether the gateway takes events, and how each sender fares.", nil)
    static let metrics = AdminCall(
        .shows, "/metrics", "Metrics, in the text format of Prometheus.", nil)
    static let fleet = AdminCall(
        .shows, "/fleet", "The gateways that share the store, and what waits in it.")
    static let openAPI = AdminCall(.shows, "/openapi.json", "This description.")
    static let live = AdminCall(
        .shows, "/live", "Server-sent events with the figures of the admin page.", nil)
    static let config = AdminCall(
        .shows, "/config", "The configuration file without its secrets, and its faults.")
    static let reload = AdminCall(
        .changes, "/reload", "Applies the configuration file; ?check only says what would change.",
        // It ends with the replaced instances, after the drain time at the latest.
        nil, switch: "check", timeoutMs: 900_000)
    static let logLevel = AdminCall(.shows, "/log-level", "How much is logged.")
    static let setLogLevel = AdminCall(
        .changes, "/log-level", "Changes how much is logged, until the next start.",
        ["level": .name])

    static let trace = AdminCall(
        .shows, "/trace", "What became of events: routes, recipients, attempts and answers.",
        [
            "event": .number, "user": .name, "subject": .name, "device": .name,
            "source_id": .name, "since": .number, "before": .number, "limit": .count,
        ])
    static let explain = AdminCall(
        .asks, "/explain", "What a webhook or an event would send; sends nothing.", nil)
    static let send = AdminCall(
        .changes, "/send", "Sends one push past the queue, and shows the provider's answer.",
        // Providers may be slow, and each device has its own time-out.
        nil, timeoutMs: 600_000)

    private static let named: [String: AdminInput.Kind] = [
        "sender": .name, "route": .name, "by": .text,
    ]
    private static let noted = named.merging(["reason": .text]) { $1 }
    static let paused = AdminCall(.shows, "/paused", "What is paused, by whom and why.")
    static let pause = AdminCall(
        .changes, "/pause", "Lets the deliveries of a sender or a route wait.", noted)
    static let resume = AdminCall(
        .changes, "/resume", "Sends the deliveries of a paused sender or route again.", noted)

    static let cancelled = AdminCall(
        .shows, "/waiting/cancelled", "The orders to cancel what waits.")
    static let cancel = AdminCall(
        .changes, "/waiting/cancel", "Ends what waits instead of sending it.",
        named.merging([
            "user": .name, "event": .number, "older_than_ms": .number, "all": .flag,
            "gone": .flag,
        ]) { $1 })

    private static let person: [String: AdminInput.Kind] = ["user": .name, "app": .text]
    static let devices = AdminCall(
        .shows, "/devices", "A user's devices in all apps, without their tokens.", ["user": .name])
    static let export = AdminCall(
        .exports, "/export", "Everything that is stored about a user.", person,
        // Searching millions of waiting deliveries takes a while.
        timeoutMs: 300_000)
    static let forget = AdminCall(
        .changes, "/forget", "Removes what is stored about a user.", person, timeoutMs: 300_000)

    private static let dead: [String: AdminInput.Kind] = [
        "sender": .name, "route": .name, "reason": .name, "user": .name, "app": .text,
        "before": .number, "since": .number, "from": .number, "limit": .count,
        // For a list it is what no filter means; commands count with it before they change all.
        "all": .flag,
    ]
    private static let chosenDead = dead.merging(["ids": .ids, "by": .text]) { $1 }
    static let deadList = AdminCall(.shows, "/dead", "Dead letters, the oldest first.", dead)
    static let deadLetter = AdminCall(.shows, "/dead/*", "The dead letter with an id.")
    static let replay = AdminCall(
        .changes, "/dead/replay", "Sends dead letters again.", chosenDead)
    static let purge = AdminCall(.changes, "/dead/purge", "Deletes dead letters.", chosenDead)
}
