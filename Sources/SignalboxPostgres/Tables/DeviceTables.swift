internal import SignalboxCore
internal import SignalboxTables

/// How the devices of many users are looked up at once.
enum DeviceTables {
    static let ofUsers = Statement(
        "devices_of_users",
        """
        SELECT wanted.place, app, user_id, \(DeviceTable.own)
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (wanted_app, wanted_user, place)
          JOIN signalbox.device ON user_id = wanted_user AND (wanted_app = '' OR app = wanted_app)
        ORDER BY wanted.place
        """)

    static func devices(
        of users: ArraySlice<UserKey>, nowUnixMs: Int64, _ tables: PostgresTables,
        _ found: @escaping (UserKey, [RegisteredDevice]) -> Void
    ) throws {
        let values = Parameters(users.map(\.app), users.map(\.user))
        let rows = try tables.link.run(ofUsers, values, byNs: tables.deadlineNs)
        var groups = DeviceTable.OfUsers(users, found)
        try FoundRow.each(rows) { row in
            groups.add(
                DeviceTable.device(row, from: 1, nowUnixMs: nowUnixMs), at: Int(row.number(0)) - 1)
        }
        groups.finish()
    }
}
