internal import SignalboxCore
internal import SignalboxHTTP

/// Which events a trace is about.
package struct TraceQuery: Sendable, Hashable {
    /// How the events are found.
    package enum Subject: Sendable, Hashable {
        /// The gateway's id.
        case event(UInt64)
        /// A recipient's name.
        case user(String)
        /// What the event was about: `ticket/5`.
        case subject(String)
        /// A device's token.
        case device(String)
        /// The event's id at its source.
        case sourceID(String)
    }

    /// How the events are found.
    package var subject: Subject
    /// Excludes older events, in Unix milliseconds.
    package var sinceUnixMs: UInt64 = 0
    /// Excludes newer events, in Unix milliseconds.
    package var beforeUnixMs = UInt64(Int64.max)
    /// Most events, starting with the newest.
    package var limit = 20

    /// Most events of a trace.
    package static let limitMax = 1_000

    /// Makes a query.
    package init(_ subject: Subject) { self.subject = subject }

    var tags: [HistoryTag] {
        switch subject {
        case .event(let id): [.event(id)]
        case .user(let name): [.user(name)]
        case .subject(let text): [.subject(text)]
        case .device(let token): Self.spellings(token).map { .token($0) }
        case .sourceID(let id): [.sourceID(id)]
        }
    }

    /// Spellings of a token: a hexadecimal one is stored in lower case, however it was registered.
    private static func spellings(_ token: String) -> Set<String> {
        [token, DeviceToken.hexadecimal(token)]
    }

    /// Whether an event with that tag matches, since two names may share a tag.
    func takes(_ event: HistoryEvent) -> Bool {
        guard event.receivedUnixMs >= sinceUnixMs, event.receivedUnixMs < beforeUnixMs else {
            return false
        }
        return switch subject {
        case .event(let id): event.id == id
        case .subject(let text): event.subject == text
        case .sourceID(let id): event.sourceID == id
        case .user, .device: event.targets.contains(where: takes)
        }
    }

    /// Whether a recipient is one the trace is about.
    func takes(_ target: HistoryTarget) -> Bool {
        switch subject {
        case .user(let name): target.user.hasSameBytes(as: name)
        case .device(let token):
            Self.spellings(token).contains { DeadLetter.redacted($0) == target.token }
        case .event, .subject, .sourceID: true
        }
    }
}

extension TraceQuery {
    /// Reads the parameters of `GET /trace`: `user`, `since`, `limit`.
    init(_ input: AdminInput) throws {
        let subjects: [Subject] = [
            input.number("event").map { .event($0) }, input.text("user").map { .user($0) },
            input.text("subject").map { .subject($0) }, input.text("device").map { .device($0) },
            input.text("source_id").map { .sourceID($0) },
        ].compactMap { $0 }
        guard subjects.count == 1 else {
            throw Problem(400, "give one of event, user, subject, device and source_id")
        }
        self.init(subjects[0])
        if let ms = input.number("since") { sinceUnixMs = ms }
        if let ms = input.number("before") { beforeUnixMs = ms }
        if let count = input.number("limit") { limit = Int(min(max(1, count), 1_000)) }
    }

    /// As the parameters of `GET /trace`.
    var input: AdminInput {
        let subject: AdminInput =
            switch subject {
            case .event(let id): ["event": id]
            case .user(let name): ["user": name]
            case .subject(let text): ["subject": text]
            case .device(let token): ["device": token]
            case .sourceID(let id): ["source_id": id]
            }
        return subject.adding([
            "since": sinceUnixMs, "before": beforeUnixMs, "limit": UInt64(limit),
        ])
    }
}
