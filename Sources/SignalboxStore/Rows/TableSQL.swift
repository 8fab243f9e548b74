internal import SignalboxCore

/// SQL of the badge counters.
enum BadgeSQL {
    /// Sets a counter or changes it, if its user has a device; what follows says to which number.
    static let change = """
        INSERT INTO badge (app, user, number)
        SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM device WHERE user = ?2 AND app = ?1)
        ON CONFLICT (app, user) DO UPDATE SET number =
        """
}

/// SQL that several statements of the device registry share.
enum DeviceSQL {
    /// The columns of a device, the id last.
    private static let own =
        "token, platform, provider, source_token, locale, registered, online, attributes, id"
    /// Reads whole devices.
    static let devices = "SELECT app, user, \(own) FROM device"
    /// A caller may spell a token differently from the registry.
    static let hasToken = "token IN (?, ?)"

    /// Users of one app whose devices one statement looks up: starting and ending one costs as much as three users.
    static let usersMax = 64
    static let fewUsers = 4

    static func devices(ofUsersInApp count: Int) -> String {
        let users = (0..<count).map { "(\($0), ?)" }.joined(separator: ", ")
        return """
            WITH wanted (number, name) AS (VALUES \(users))
            SELECT number, \(own)
            FROM wanted CROSS JOIN device ON user = name AND app = ?
            """
    }
}

/// SQL of what a newer delivery makes obsolete.
enum StaleSQL {
    static func mark(_ table: String, _ column: String, _ stale: Staleness) -> String {
        """
        UPDATE \(table) SET stale = stale | \(stale.rawValue)
        WHERE \(column) = ? AND (accepted, id) < (?, ?) AND stale & \(stale.rawValue) = 0
        """
    }
}
