internal import SignalboxCore
internal import SignalboxTables

/// How the devices of many users are looked up at once.
enum DeviceTables {
    static let ofUsers = Statement(
        "devices_of_users",
        "SELECT app, user_id, \(DeviceTable.own) FROM signalbox.device WHERE user_id = ANY ($1::text[])"
    )

    /// Users per statement: while their devices are read here, the server looks up those of the next.
    private static let partMax = 256

    static func devices(
        of users: ArraySlice<UserKey>, nowUnixMs: Int64, _ tables: PostgresTables,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws {
        let parts = stride(from: users.startIndex, to: users.endIndex, by: partMax).map {
            users[$0..<min($0 + partMax, users.endIndex)]
        }
        for part in parts { tables.link.send(ofUsers, Parameters(part.map(\.user))) }
        var rest = parts[...]
        try tables.link.finish(byNs: tables.deadlineNs) { rows in
            guard let part = rest.popFirst() else { return }
            var all: [ExactText: [RegisteredDevice]] = [:]
            FoundRow.each(rows) { row in
                let device = DeviceTable.device(row, nowUnixMs: nowUnixMs)
                all[ExactText(device.device.user), default: []].append(device)
            }
            for user in part {
                let devices = (all[ExactText(user.user)] ?? []).filter { user.owns($0.device) }
                found(DeviceTable.newestFirst(devices))
            }
        }
    }
}
