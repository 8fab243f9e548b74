internal import SignalboxCore
internal import SignalboxGateway

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

    /// Spellings of a token: those of APNs are stored in hexadecimal, however they were registered.
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
        case .user(let name): target.user == name
        case .device(let token):
            Self.spellings(token).contains { DeadLetter.redacted($0) == target.token }
        case .event, .subject, .sourceID: true
        }
    }
}

extension TraceQuery {
    /// Parses the query of a URL: `user=u-42&since=1700000000000&limit=20`; throws a message for people.
    package init(query: String) throws(TraceFault) {
        var values: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]) else {
                throw TraceFault("\"\(pair)\" is not KEY=VALUE, percent-encoded")
            }
            guard !value.isEmpty else {
                throw TraceFault("\(parts[0]) has no value: give it one, or leave it out")
            }
            values[String(parts[0])] = value
        }
        var subjects: [Subject] = []
        if let text = values.removeValue(forKey: "event") {
            guard let id = UInt64(text) else { throw TraceFault("event must be a number") }
            subjects.append(.event(id))
        }
        if let text = values.removeValue(forKey: "user") { subjects.append(.user(text)) }
        if let text = values.removeValue(forKey: "subject") { subjects.append(.subject(text)) }
        if let text = values.removeValue(forKey: "device") { subjects.append(.device(text)) }
        if let text = values.removeValue(forKey: "source_id") { subjects.append(.sourceID(text)) }
        guard subjects.count == 1 else {
            throw TraceFault("give one of event, user, subject, device and source_id")
        }
        self.init(subjects[0])
        func number(_ key: String) throws(TraceFault) -> UInt64? {
            guard let text = values.removeValue(forKey: key) else { return nil }
            guard let number = UInt64(text) else { throw TraceFault("\(key) must be a number") }
            return number
        }
        if let ms = try number("since") { sinceUnixMs = ms }
        if let ms = try number("before") { beforeUnixMs = ms }
        if let count = try number("limit") { limit = Int(min(max(1, count), 1_000)) }
        if let other = values.keys.min() { throw TraceFault("unknown key \"\(other)\"") }
    }

    /// As the query of a URL.
    package var text: String {
        let (key, value) =
            switch subject {
            case .event(let id): ("event", String(id))
            case .user(let name): ("user", name)
            case .subject(let text): ("subject", text)
            case .device(let token): ("device", token)
            case .sourceID(let id): ("source_id", id)
            }
        return "\(key)=\(PercentEncoding.encode(value))&since=\(sinceUnixMs)&before=\(beforeUnixMs)"
            + "&limit=\(limit)"
    }
}

/// Why there is no trace.
package struct TraceFault: Error, CustomStringConvertible {
    package let description: String
    init(_ words: String) { description = words }
}
