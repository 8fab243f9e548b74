/// What history contains about one user, and how to remove it.
///
/// Events hold the user's name, steps only the ids of their deliveries. So all rows about the user are read first
/// (`learn`), and then changed (`without`).
public struct HistoryPerson: Sendable {
    private let user: UserKey
    private let tokens: [String]
    /// Deliveries to the user.
    private var deliveries: Set<UInt64> = []
    /// Events with the user among their recipients.
    private var events: Set<UInt64> = []
    /// Events with no other recipient.
    private var own: Set<UInt64> = []

    /// A user, of one app or all, with the tokens of the user's devices.
    public init(_ user: UserKey, tokens: [String]) {
        self.user = user
        self.tokens = tokens
    }

    /// How many events name the user.
    public var eventCount: Int { events.count }

    /// Finds every row about the user.
    public var tags: [HistoryTag] { [.user(user.user)] + tokens.map { .token($0) } }

    private func isMeant(_ target: HistoryTarget) -> Bool {
        target.user.hasSameBytes(as: user.user) && (user.app.isEmpty || target.app == user.app)
    }

    /// Notes which events and deliveries of a row are the user's.
    public mutating func learn(_ row: HistoryRow) {
        for event in row.read().events {
            let mine = event.targets.filter(isMeant)
            guard !mine.isEmpty else { continue }
            events.insert(event.id)
            if mine.count == event.targets.count { own.insert(event.id) }
            deliveries.formUnion(mine.map(\.delivery).filter { $0 != 0 })
        }
    }

    /// Whether a step is about the user.
    private func isMeant(_ step: HistoryStep) -> Bool {
        if deliveries.contains(step.delivery) || own.contains(step.eventID) { return true }
        guard step.kind == .opened, step.who == user.user else { return false }
        return user.app.isEmpty || events.contains(step.eventID)
    }

    /// A row without the user; nil if it is then empty.
    ///
    /// An event with other recipients remains, without this one.
    public func without(_ row: HistoryRow) -> HistoryRow? {
        let (events, steps) = row.read()
        let leftEvents = events.filter { !own.contains($0.id) }.map { event in
            var out = event
            out.targets.removeAll(where: isMeant)
            return out
        }
        let leftSteps = steps.filter { !isMeant($0) }
        if leftEvents.isEmpty, leftSteps.isEmpty { return nil }
        var out = row
        if leftEvents != events || leftSteps != steps {
            out.setRecords(leftEvents, leftSteps)
        }
        // A user's name in other apps is found by the same tag.
        guard user.app.isEmpty else { return out }
        let others = Set(
            leftEvents.flatMap { $0.targets.map { HistoryTag.user($0.user) } })
        out.removeTags(Set(tags).subtracting(others))
        return out
    }
}

extension HistoryRow {
    /// Replaces the records; their tags stay.
    fileprivate mutating func setRecords(_ events: [HistoryEvent], _ steps: [HistoryStep]) {
        var writer = RecordWriter()
        for event in events {
            let kind = event.isDuplicate ? HistoryPack.Kind.duplicate : .event
            writer.append(kind.rawValue)
            writer.append(event)
        }
        for step in steps {
            writer.append(HistoryPack.Kind.step.rawValue)
            writer.append(step)
        }
        records = writer.bytes
    }

    /// Makes the row unfindable by these.
    fileprivate mutating func removeTags(_ gone: Set<HistoryTag>) {
        let all = Set(gone.map(\.bytes))
        var left: [UInt8] = []
        for start in stride(from: 0, through: tags.count - HistoryTag.size, by: HistoryTag.size) {
            let tag = Array(tags[start..<start + HistoryTag.size])
            if !all.contains(tag) { left += tag }
        }
        tags = left
    }
}
