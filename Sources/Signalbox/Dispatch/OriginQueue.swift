/// Requests that wait for a place, so that an origin that is slow leaves places to the others: a value without
/// threads or time.
///
/// The empty origin is the endpoint's own and has no bound of its own.
struct OriginQueue<Item> {
    private struct Origin {
        var running = 0
        /// The last request to it got no answer.
        var isSlow = false
        var parked: [Item] = []
        var parkedHead = 0
        /// It is in `eligible`.
        var isEligible = false

        var hasParked: Bool { parkedHead < parked.count }
    }

    /// Slow origins that are remembered while nothing waits for them.
    static var slowMax: Int { 1_000 }

    /// How many requests are under way.
    private(set) var running = 0
    private var waiting: [(item: Item, origin: String)] = []
    private var head = 0
    private var origins: [String: Origin] = [:]
    /// Origins with parked requests that may have room again.
    private var eligible: [String] = []

    /// Adds a request at the end.
    mutating func add(_ item: Item, to origin: String) { waiting.append((item, origin)) }

    /// Takes the next request that may begin with so many places in all; nil: none may.
    mutating func next(room: Int) -> Item? {
        guard running < room else { return nil }
        while let name = eligible.popLast() {
            origins[name]?.isEligible = false
            guard var origin = origins[name], origin.hasParked, hasPlace(origin, room)
            else { continue }
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
                origin.parked.append(item)
                origins[name] = origin
                continue
            }
            begin(&origin, name, room)
            return item
        }
        return nil
    }

    /// A request has ended; `isSlow`: without an answer.
    mutating func ended(at name: String, isSlow: Bool) {
        running -= 1
        guard !name.isEmpty, var origin = origins[name] else { return }
        origin.running -= 1
        origin.isSlow = isSlow
        if origin.hasParked, !origin.isEligible {
            origin.isEligible = true
            eligible.append(name)
        }
        origins[name] = origin
        guard origin.running == 0, !origin.hasParked else { return }
        if !isSlow || origins.count > Self.slowMax { origins[name] = nil }
    }

    /// Takes out all that has not begun.
    mutating func takeAll() -> [Item] {
        var out = origins.values.flatMap { $0.parked[$0.parkedHead...] }
        out += waiting[head...].map(\.item)
        (waiting, head, eligible) = ([], 0, [])
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
        if origin.hasParked, hasPlace(origin, room) {
            origin.isEligible = true
            eligible.append(name)
        }
        origins[name] = origin
    }

    /// One that answers leaves a quarter of the places to the others; one that does not has few.
    private func hasPlace(_ origin: Origin, _ room: Int) -> Bool {
        origin.running < max(1, origin.isSlow ? room / 16 : room - room / 4)
    }
}
