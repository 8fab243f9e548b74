/// Requests that wait for a place, so that an origin that is slow leaves places to the others: a value without
/// threads or time.
///
/// An origin is slow until it has answered in time, for origins come from tokens, and anybody may name new ones. The
/// empty origin is the endpoint's own and has no bound of its own.
struct OriginQueue<Item> {
    private struct Origin {
        var running = 0
        /// Of these, how many began while it was slow.
        var slowRunning = 0
        /// The last request to it was answered in time.
        var isQuick = false
        var parked: [Item] = []
        var parkedHead = 0
        /// It is in `eligible` or `held`.
        var isEligible = false

        var hasParked: Bool { parkedHead < parked.count }
    }

    /// Quick origins that are remembered while nothing is under way to them.
    static var quickMax: Int { 1_000 }
    /// Requests that wait for one slow origin: more would keep those for others out of memory.
    static var parkedMax: Int { 128 }

    /// How many requests are under way.
    private(set) var running = 0
    private var waiting: [(item: Item, origin: String)] = []
    private var head = 0
    private var origins: [String: Origin] = [:]
    /// Origins with parked requests that may have room again.
    private var eligible: [String] = []
    /// Slow origins with parked requests and none under way: others have all places of slow ones.
    private var held: [String] = []
    /// How many of those under way began at an origin while it was slow.
    private var slowRunning = 0
    private var excess: [Item] = []

    /// Adds a request at the end.
    mutating func add(_ item: Item, to origin: String) { waiting.append((item, origin)) }

    /// Takes the next request that may begin with so many places in all; nil: none may.
    mutating func next(room: Int) -> Item? {
        guard running < room else { return nil }
        while let name = eligible.popLast() {
            origins[name]?.isEligible = false
            guard var origin = origins[name], origin.hasParked else { continue }
            guard hasPlace(origin, room) else {
                hold(&origin, name)
                continue
            }
            let item = origin.parked[origin.parkedHead]
            origin.parkedHead += 1
            if !origin.hasParked { (origin.parked, origin.parkedHead) = ([], 0) }
            begin(&origin, name, room)
            return item
        }
        while head < waiting.count {
            let (item, name) = waiting[head]
            head += 1
            if head > 1_024 || head == waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            guard !name.isEmpty else {
                running += 1
                return item
            }
            var origin = origins[name] ?? Origin()
            guard !origin.hasParked, hasPlace(origin, room) else {
                if !origin.isQuick, origin.parked.count - origin.parkedHead >= Self.parkedMax {
                    excess.append(item)
                } else {
                    origin.parked.append(item)
                    hold(&origin, name)
                }
                continue
            }
            begin(&origin, name, room)
            return item
        }
        return nil
    }

    /// Takes out what is too much for a slow origin: it comes again when its origin may be well.
    mutating func takeExcess() -> [Item] {
        defer { excess = [] }
        return excess
    }

    /// A request has ended; `isSlow`: without an answer, or with a late one.
    mutating func ended(at name: String, isSlow: Bool) {
        running -= 1
        guard !name.isEmpty, var origin = origins[name] else { return }
        origin.running -= 1
        var isPlaceOfSlow = false
        if origin.slowRunning > 0 {
            origin.slowRunning -= 1
            slowRunning -= 1
            isPlaceOfSlow = true
        }
        origin.isQuick = !isSlow
        if isSlow, origin.parked.count - origin.parkedHead > Self.parkedMax {
            excess += origin.parked[(origin.parkedHead + Self.parkedMax)...]
            origin.parked.removeSubrange((origin.parkedHead + Self.parkedMax)...)
        }
        if origin.hasParked, !origin.isEligible {
            origin.isEligible = true
            eligible.append(name)
        }
        // Looked at before this one.
        if isPlaceOfSlow, !held.isEmpty { eligible.append(held.removeFirst()) }
        origins[name] = origin
        guard origin.running == 0, !origin.hasParked else { return }
        if isSlow || origins.count > Self.quickMax { origins[name] = nil }
    }

    /// Takes out all that has not begun.
    mutating func takeAll() -> [Item] {
        var out = origins.values.flatMap { $0.parked[$0.parkedHead...] }
        out += waiting[head...].map(\.item) + excess
        (waiting, head, eligible, held, excess) = ([], 0, [], [], [])
        for name in origins.keys {
            origins[name]?.parked = []
            origins[name]?.parkedHead = 0
            origins[name]?.isEligible = false
        }
        return out
    }

    private mutating func begin(_ origin: inout Origin, _ name: String, _ room: Int) {
        running += 1
        origin.running += 1
        if !origin.isQuick {
            origin.slowRunning += 1
            slowRunning += 1
        }
        if origin.hasParked, hasPlace(origin, room) {
            origin.isEligible = true
            eligible.append(name)
        }
        origins[name] = origin
    }

    /// Has a slow origin wait for a place of others, if no request of its own ends first.
    private mutating func hold(_ origin: inout Origin, _ name: String) {
        if origin.running == 0, !origin.isEligible {
            origin.isEligible = true
            held.append(name)
        }
        origins[name] = origin
    }

    /// One that answers leaves a quarter of the places to the others; one that does not has few, and all of these
    /// together have a quarter.
    private func hasPlace(_ origin: Origin, _ room: Int) -> Bool {
        guard !origin.isQuick else { return origin.running < max(1, room - room / 4) }
        return origin.running < max(1, room / 16) && slowRunning < max(1, room / 4)
    }
}
