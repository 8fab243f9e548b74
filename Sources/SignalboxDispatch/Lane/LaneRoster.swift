internal import SignalboxCore

/// Which lanes exist, which are being made, and which could not be made: a value without threads or time.
///
/// Making a lane calls its plugin, outside of any lock, and the instances may change meanwhile. So the maker takes a
/// ticket first, and a change makes earlier tickets outdated.
struct LaneRoster<Member: Sendable>: Sendable {
    struct Ticket: Sendable {
        /// Unique among lanes.
        let number: Int
        fileprivate let epoch: Int
    }

    /// What to do about a backlog.
    enum Call {
        case tell(Member)
        case make
        /// The lane is being made, waits for a place, or the gateway is stopping.
        case nothing
    }

    /// What became of a lane that was made.
    enum Entrance {
        case entered
        /// Another one was made at the same time and is in use.
        case isTaken
        /// The instances changed in the meantime: make it again.
        case isOutdated
    }

    private struct Refusal {
        let reason: String
        /// Until when it is shown, in milliseconds of a steady clock; by then nothing waits for it.
        let untilMs: UInt64
    }

    private enum Entry: Sendable {
        case ready(Member)
        case making
    }

    private var entries: [LaneKey: Entry] = [:]
    /// Lanes that were removed and may still have deliveries in flight.
    private(set) var leaving: [LaneKey: [Member]] = [:]
    private var refused: [LaneKey: Refusal] = [:]
    /// Keys waiting for a place, in order: their lanes are made when others end.
    private var queue: [LaneKey] = []
    private var queued: Set<LaneKey> = []
    /// What retired lanes knew about dead tokens.
    private(set) var doubts: [LaneKey: DeathDoubt] = [:]
    /// What lanes knew before this steady time may be lost.
    private(set) var knownSinceMs: UInt64
    private let countMax: Int
    private var nextNumber = 1
    private var epoch = 0
    private var isClosed = false

    /// How long an app without a sender is shown: its name came from an event, whose deliveries are gone by then.
    static var unknownAppMs: UInt64 { 600_000 }
    /// Most refusals remembered, since events can name any app.
    static var refusalsMax: Int { 1_000 }
    /// Most retired lanes whose doubt is kept.
    static var doubtsMax: Int { 10_000 }

    /// At most `countMax` lanes, not counting senders without an app, which the configuration bounds.
    init(countMax: Int = .max, nowMs: UInt64 = 0) {
        self.countMax = countMax
        knownSinceMs = nowMs
    }

    /// How many lanes wait for a place.
    var queuedCount: Int { queue.count }

    private var isFull: Bool { entries.count >= countMax }

    /// Why lanes could not be made.
    func refusals(nowMs: UInt64) -> [LaneKey: String] {
        refused.compactMapValues { $0.untilMs > nowMs ? $0.reason : nil }
    }

    /// Whether a lane could not be made.
    func isRefused(_ key: LaneKey, nowMs: UInt64) -> Bool {
        refused[key].map { $0.untilMs > nowMs } ?? false
    }

    /// All lanes that are ready.
    var all: [Member] {
        entries.values.compactMap { if case .ready(let member) = $0 { member } else { nil } }
    }

    /// A lane that is ready, or nil.
    func lane(_ key: LaneKey) -> Member? {
        if case .ready(let member) = entries[key] { member } else { nil }
    }

    /// Whether it is being made; the maker then tells it what waits.
    func isMaking(_ key: LaneKey) -> Bool {
        if case .making = entries[key] { true } else { false }
    }

    /// Something waits for a lane.
    mutating func backlog(_ key: LaneKey) -> Call {
        switch entries[key] {
        case .ready(let member): return .tell(member)
        case .making: return .nothing
        case nil where isClosed: return .nothing
        case nil where isFull && !key.app.isEmpty:
            // Retried when a place is free; its deliveries are on disk.
            if queued.insert(key).inserted { queue.append(key) }
            return .nothing
        case nil:
            entries[key] = .making
            return .make
        }
    }

    /// Removes and returns waiting keys, as many as there are free places.
    mutating func admitted() -> [LaneKey] {
        let count = min(queue.count, max(0, countMax - entries.count))
        guard count > 0 else { return [] }
        let first = Array(queue.prefix(count))
        queue.removeFirst(count)
        queued.subtract(first)
        return first
    }

    /// Removes an idle lane; the next delivery makes a new one, which inherits its doubt.
    mutating func retire(
        _ key: LaneKey, _ doubt: DeathDoubt = DeathDoubt(), nowMs: UInt64 = 0
    ) {
        guard let member = lane(key) else { return }
        entries[key] = nil
        if doubts.count >= Self.doubtsMax {
            doubts.remove(at: doubts.startIndex)
            knownSinceMs = nowMs
        }
        doubts[key] = doubt.isEmpty ? nil : doubt
        leaving[key, default: []].append(member)
    }

    /// Whether it waits for a place.
    func isQueued(_ key: LaneKey) -> Bool { queued.contains(key) }

    /// Starts making a lane; nil if the gateway is stopping.
    mutating func begin(_ key: LaneKey) -> Ticket? {
        guard !isClosed else { return nil }
        if entries[key] == nil { entries[key] = .making }
        defer { nextNumber += 1 }
        return Ticket(number: nextNumber, epoch: epoch)
    }

    /// Adds a lane that was made.
    mutating func enter(_ member: Member, _ key: LaneKey, _ ticket: Ticket) -> Entrance {
        guard ticket.epoch == epoch else { return .isOutdated }
        if case .ready = entries[key] { return .isTaken }
        entries[key] = .ready(member)
        refused[key] = nil
        return .entered
    }

    /// Records that a lane could not be made. False if the instances changed meanwhile, since the new ones were not
    /// asked. `isUnknown`: no sender handles its app.
    mutating func refuse(
        _ key: LaneKey, _ reason: String, isUnknown: Bool = false, _ ticket: Ticket, nowMs: UInt64
    ) -> Bool {
        guard ticket.epoch == epoch else { return false }
        // A concurrent maker may have succeeded.
        guard case .making = entries[key] else { return true }
        entries[key] = nil
        if refused.count >= Self.refusalsMax, refused[key] == nil {
            refused.remove(at: refused.startIndex)
        }
        // Without an app the configuration is at fault, so the refusal stays until it changes.
        let isBrief = isUnknown && !key.app.isEmpty
        refused[key] = Refusal(
            reason: reason, untilMs: isBrief ? nowMs + Self.unknownAppMs : .max)
        return true
    }

    /// The instances of some lanes have changed: removes these lanes.
    mutating func remove(nowMs: UInt64 = 0, where isWanted: @Sendable (LaneKey) -> Bool) -> [Member]
    {
        epoch += 1
        queue.removeAll(where: isWanted)
        queued = Set(queue)
        // Wrong settings may have caused the doubt and be fixed now.
        doubts = doubts.filter { !isWanted($0.key) }
        knownSinceMs = nowMs
        refused = refused.filter { !isWanted($0.key) }
        return entries.keys.filter(isWanted).compactMap { key in
            guard let member = lane(key) else { return nil }
            entries[key] = nil
            leaving[key, default: []].append(member)
            return member
        }
    }

    /// Forgets removed lanes that are over.
    mutating func forget(_ key: LaneKey, where isOver: (Member) -> Bool) {
        leaving[key]?.removeAll(where: isOver)
        if leaving[key]?.isEmpty == true { leaving[key] = nil }
    }

    /// Removes all lanes for good.
    mutating func close() -> [Member] {
        isClosed = true
        return remove { _ in true }
    }
}
