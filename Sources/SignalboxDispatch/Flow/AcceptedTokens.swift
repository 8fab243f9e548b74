/// Tokens whose pushes a provider accepted, as far as one remembers.
///
/// It may take a token for an accepted one, and forgets the oldest first when it is full: four bytes per token, a MiB at
/// most.
struct AcceptedTokens: Sendable {
    /// Most slots of the table.
    private static let slotsMax = 1 << 18
    /// A token is in one of so many slots that follow its own.
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

    /// Where a mark is, or may be put; nil: its slots hold others.
    private func place(of mark: UInt32) -> Int? {
        for step in 0..<Self.reach {
            let place = (Int(mark) + step) & (slots.count - 1)
            if slots[place] == mark || slots[place] == 0 { return place }
        }
        return nil
    }

    /// Seeded anew in each process, so nobody registers tokens that push others out.
    private static func mark(_ token: String) -> UInt32 {
        let hash = UInt32(truncatingIfNeeded: token.hashValue)
        return hash == 0 ? 1 : hash
    }
}
