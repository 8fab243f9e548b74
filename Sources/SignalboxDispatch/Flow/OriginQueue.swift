/// Requests waiting for a place, such that slow origins leave places to the others: a value without threads or time.
///
/// An origin counts as slow until it has answered in time, since origins come from tokens and anybody may name new
/// ones. The empty origin is the endpoint's own and has no limit of its own.
package struct OriginQueue<Item> {
    private struct Origin {
        var running = 0
        /// How many of these began while it was slow.
        var slowRunning = 0
        /// Whether its last request was answered in time.
        var isQuick = false
        var parked: [Item] = []
        var parkedHead = 0
        /// Whether it is in `eligible` or `held`.
        var isEligible = false

        var hasParked: Bool { parkedHead < parked.count }
    }

    /// Most quick origins remembered while none of their requests is in progress.
    static var quickMax: Int { 1_000 }
    /// Most requests waiting for one slow origin: more would crowd out those for others.
    static var parkedMax: Int { 128 }

    /// How many requests are in progress.
    package private(set) var running = 0
    private var waiting: [(item: Item, origin: String)] = []
    private var head = 0
    private var origins: [String: Origin] = [:]
    /// Origins with parked requests that may have a free place again.
    private var eligible: [String] = []
    /// Slow origins with parked requests and none in progress, because other slow origins use all places.
    private var held: [String] = []
    /// How many requests in progress began while their origin was slow.
    private var slowRunning = 0
    private var excess: [Item] = []

    package init() {}

    /// Adds a request at the end.
    package mutating func add(_ item: Item, to origin: String) { waiting.append((item, origin)) }

    /// Takes the next request that may begin with `room` places in all; nil if none may.
    package mutating func next(room: Int) -> Item? {
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

    /// Takes out the excess of a slow origin, to be retried once it may have recovered.
    package mutating func takeExcess() -> [Item] {
        defer { excess = [] }
        return excess
    }

    /// A request ended; `isSlow`: without an answer, or with a late one.
    package mutating func ended(at name: String, isSlow: Bool) {
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
        // Served before this origin.
        if isPlaceOfSlow, !held.isEmpty { eligible.append(held.removeFirst()) }
        origins[name] = origin
        guard origin.running == 0, !origin.hasParked else { return }
        if isSlow || origins.count > Self.quickMax { origins[name] = nil }
    }

    /// Takes out all requests that have not begun.
    package mutating func takeAll() -> [Item] {
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

    /// Makes a slow origin wait for a place of another, unless one of its own requests ends first.
    private mutating func hold(_ origin: inout Origin, _ name: String) {
        if origin.running == 0, !origin.isEligible {
            origin.isEligible = true
            held.append(name)
        }
        origins[name] = origin
    }

    /// A quick origin may use all but a quarter of the places; slow ones get few each, and a quarter together.
    private func hasPlace(_ origin: Origin, _ room: Int) -> Bool {
        guard !origin.isQuick else { return origin.running < max(1, room - room / 4) }
        return origin.running < max(1, room / 16) && slowRunning < max(1, room / 4)
    }
}
