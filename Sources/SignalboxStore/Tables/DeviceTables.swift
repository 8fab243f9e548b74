internal import SignalboxCore
internal import SignalboxTables

/// How the devices of many users are looked up.
enum DeviceTables {
    static func devices(
        of users: ArraySlice<UserKey>, nowUnixMs now: Int64, _ link: SQLiteTables,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws {
        var rest = users
        while let first = rest.first {
            guard !first.app.isEmpty else {
                found(try devicesInAnyApp(of: first.user, now, link))
                rest.removeFirst()
                continue
            }
            let limit =
                rest.count > 2 * DeviceSQL.fewUsers ? DeviceSQL.usersMax : DeviceSQL.fewUsers
            let some = rest.prefix(limit).prefix { $0.app == first.app }
            rest = rest.dropFirst(some.count)
            try devices(of: some, in: first.app, now, link, found)
        }
    }

    private static func devices(
        of users: ArraySlice<UserKey>, in app: String, _ now: Int64, _ link: SQLiteTables,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws {
        let isFew = users.count <= DeviceSQL.fewUsers
        let rows = try link.hot.statement(isFew ? .devicesOfFewUsers : .devicesOfUsers, link.db)
        for user in users { rows.bind(user.user) }
        // Matches no user.
        for _ in users.count..<(isFew ? DeviceSQL.fewUsers : DeviceSQL.usersMax) {
            rows.bind(Int64?.none)
        }
        rows.bind(app)
        var groups = OfUsers(users, found)
        while try rows.step() {
            let place = Int(rows.number(0))
            let device = DeviceTable.device(
                rows, from: 1, app: app, user: groups[place].user, nowUnixMs: now)
            groups.add(device, at: place)
        }
        groups.finish()
    }

    private static func devicesInAnyApp(
        of user: String, _ now: Int64, _ link: SQLiteTables
    ) throws -> [RegisteredDevice] {
        let rows = try link.hot.statement(.devicesOfUser, link.db)
        rows.bind(user)
        var found: [RegisteredDevice] = []
        while try rows.step() { found.append(DeviceTable.device(rows, nowUnixMs: now)) }
        return DeviceTable.newestFirst(found)
    }
}

/// Hands over users' devices, whose rows come in the order of the users.
private struct OfUsers {
    private let users: ArraySlice<UserKey>
    private let found: ([RegisteredDevice]) -> Void
    private var place = 0
    private var devices: [RegisteredDevice] = []

    init(_ users: ArraySlice<UserKey>, _ found: @escaping ([RegisteredDevice]) -> Void) {
        self.users = users
        self.found = found
    }

    subscript(place: Int) -> UserKey { users[users.startIndex + place] }

    mutating func add(_ device: RegisteredDevice, at place: Int) {
        finish(before: place)
        devices.append(device)
    }

    mutating func finish() { finish(before: users.count) }

    private mutating func finish(before end: Int) {
        while place < end {
            found(DeviceTable.newestFirst(devices))
            devices.removeAll(keepingCapacity: true)
            place += 1
        }
    }
}
