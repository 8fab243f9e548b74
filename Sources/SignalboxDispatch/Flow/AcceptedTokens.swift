/// A bounded memory of the tokens whose pushes a provider accepted.
///
/// Lossy: it may report a token that was never accepted, and the oldest are dropped when it is full. Four bytes per
/// token, at most a MiB.
struct AcceptedTokens: Sendable {
    /// Most slots of the table.
    private static let slotsMax = 1 << 18
    /// A token is in one of this many slots from its own on.
    private static let reach = 8
    /// 0: empty. The low bits choose the slot.
    private var slots: [UInt32] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// Whether a push to it was accepted.
    func contains(_ token: String) -> Bool {
        guard !slots.isEmpty else { return false }
        let mark = Self.mark(token)
        return place(of: mark).map { slots[$0] == mark } ?? false
    }

    /// A push to it was accepted.
    mutating func insert(_ token: String) {
        if slots.isEmpty { slots = [UInt32](repeating: 0, count: 64) }
        let mark = Self.mark(token)
        while true {
            if let place = place(of: mark) {
                if slots[place] == 0 { count += 1 }
                slots[place] = mark
                break
            }
            guard slots.count < Self.slotsMax else {
                slots[Int(mark) & (slots.count - 1)] = mark
                break
            }
            grow()
        }
        if count > slots.count / 2, slots.count < Self.slotsMax { grow() }
    }

    private mutating func grow() {
        let former = slots
        slots = [UInt32](repeating: 0, count: 2 * former.count)
        count = 0
        for mark in former where mark != 0 {
            let place = place(of: mark) ?? Int(mark) & (slots.count - 1)
            if slots[place] == 0 { count += 1 }
            slots[place] = mark
        }
    }

    /// The slot that holds a mark or is free for it; nil if other marks fill its slots.
    private func place(of mark: UInt32) -> Int? {
        for step in 0..<Self.reach {
            let place = (Int(mark) + step) & (slots.count - 1)
            if slots[place] == mark || slots[place] == 0 { return place }
        }
        return nil
    }

    /// The hash is seeded per process, so nobody can choose tokens that evict others.
    private static func mark(_ token: String) -> UInt32 {
        let hash = UInt32(truncatingIfNeeded: token.hashValue)
        return hash == 0 ? 1 : hash
    }
}
