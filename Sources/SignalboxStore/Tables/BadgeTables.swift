internal import GRDB
internal import SignalboxCore

/// The badge counters: a row per user with devices. A trigger removes it with the user's last device.
enum BadgeTables {
    /// Applies an item's badge steps to its deliveries. Returns the number after each step.
    static func perform(
        on item: inout StoreEntry.Item, _ hot: HotStatements, _ db: Database
    ) throws -> [Int32?] {
        var numbers: [Int32?] = []
        for step in item.badges {
            let number = try self.number(after: step.number, of: step.user, hot, db)
            if let number {
                for place in step.places { item.deliveries[place].badge = number }
            }
            numbers.append(number)
        }
        return numbers
    }

    /// The counter after setting or incrementing it; nil if the user has no device.
    static func number(
        after given: Int32?, of user: UserKey, _ hot: HotStatements, _ db: Database
    ) throws -> Int32? {
        let rows = try hot.statement(given == nil ? .countBadge : .setBadge, db)
        rows.bind(user.app)
        rows.bind(user.user)
        rows.bind(Int64(given ?? 1))
        guard try rows.step() else { return nil }
        let number = Int32(clamping: rows.integer(0))
        try rows.run()
        return number
    }
}
