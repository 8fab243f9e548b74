internal import SignalboxCore
internal import SignalboxTables

/// SQL that several statements of the device registry share.
enum DeviceSQL {
    /// Reads whole devices.
    static let devices = "SELECT app, user_id, \(DeviceTable.own) FROM device"

    /// Users of one app whose devices one statement looks up: starting and ending one costs as much as three users.
    static let usersMax = 64
    static let fewUsers = 4

    static func devices(ofUsersInApp count: Int) -> String {
        let users = (0..<count).map { "(\($0), ?)" }.joined(separator: ", ")
        return """
            WITH wanted (number, name) AS (VALUES \(users))
            SELECT number, \(DeviceTable.own)
            FROM wanted CROSS JOIN device ON user_id = name AND app = ?
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
