internal import GRDB
internal import SignalboxCore
internal import SignalboxJSON

/// The statements of the device registry.
enum DeviceTables {
    /// The counter of registrations: a number is given out once, also if its device is gone.
    static let counter = "device"

    static func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, nowUnixMs: UInt64,
        _ db: Database
    ) throws -> Int {
        let now = Int64(clamping: nowUnixMs)
        let kind = device.provider.isEmpty ? device.platform : device.provider
        let id = try nextRegistration(db)
        try db.cachedStatement(
            sql: """
                INSERT INTO device (id, app, token, kind, platform, provider, source_token, user, locale,
                  registered, seen, online, attributes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
                ON CONFLICT (app, token, platform, user) DO UPDATE SET id = excluded.id,
                  kind = excluded.kind, provider = excluded.provider,
                  source_token = excluded.source_token, locale = excluded.locale,
                  registered = excluded.registered, seen = excluded.seen, online = 0,
                  attributes = excluded.attributes
                """
        ).execute(arguments: [
            id, device.app, device.token, kind, device.platform, device.provider,
            device.sourceToken, device.user, device.locale, now, now,
            device.attributes.isEmpty ? "" : device.attributes.jsonText,
        ])
        // After it: the user has a device all the time, and so keeps the badge.
        try removeOthers(of: device, id, isUnique: isUnique, among: platforms, db)
        try db.cachedStatement(
            sql: """
                DELETE FROM device WHERE id IN (SELECT id FROM device
                  WHERE app = ? AND user = ? AND kind = ? ORDER BY registered DESC, id DESC LIMIT -1 OFFSET ?)
                """
        ).execute(arguments: [device.app, device.user, kind, DeviceRules.tokensMax])
        let sameKind = db.changesCount
        try db.cachedStatement(
            sql: """
                DELETE FROM device WHERE id IN (SELECT id FROM device
                  WHERE app = ? AND user = ? ORDER BY registered DESC, id DESC LIMIT -1 OFFSET ?)
                """
        ).execute(arguments: [device.app, device.user, DeviceRules.devicesMax])
        return sameKind + db.changesCount
    }

    /// The next registration number; a damaged counter continues after the largest existing id.
    private static func nextRegistration(_ db: Database) throws -> Int64 {
        let known = "(SELECT coalesce(max(id), 0) FROM device)"
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO counter (name, value) VALUES (?, \(known) + 1)
                ON CONFLICT (name) DO UPDATE
                SET value = min(max(CAST(value AS INTEGER), \(known)), \(StoredNumber.max)) + 1
                RETURNING value
                """)
        return try Int64.fetchOne(statement, arguments: [counter]) ?? 0
    }

    /// Removes the same phone's entries under other names: the user's own and, if it is unique, those of other users.
    private static func removeOthers(
        of device: Device, _ id: Int64, isUnique: Bool, among platforms: Set<String>,
        _ db: Database
    ) throws {
        let statement = try db.cachedStatement(
            sql: """
                DELETE FROM device WHERE app = ? AND token = ? AND platform = ? AND id <> ?
                  AND (user = ? OR ?)
                """)
        for platform in platforms {
            try statement.execute(arguments: [
                device.app, device.token, platform, id, device.user, isUnique,
            ])
        }
    }

    /// One without a platform stands for all of the user's with the token.
    static func unregister(_ device: Device, _ db: Database) throws -> Int {
        try db.cachedStatement(
            sql: """
                DELETE FROM device WHERE app = ? AND user = ? AND \(DeviceSQL.hasToken)
                  AND (platform = ? OR ? = '')
                """
        ).execute(arguments: [
            device.app, device.user, device.token, DeviceToken.hexadecimal(device.token),
            device.platform, device.platform,
        ])
        return db.changesCount
    }

    static func setAttributes(
        _ attributes: [Attribute], of device: Device, _ db: Database
    ) throws -> Int {
        try db.cachedStatement(
            sql: """
                UPDATE device SET attributes = ?
                WHERE app = ? AND token = ? AND platform = ? AND user = ?
                """
        ).execute(arguments: [
            attributes.jsonText, device.app, device.token, device.platform, device.user,
        ])
        return db.changesCount
    }

    static func unregister(app: String, user: String, _ db: Database) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM device WHERE app = ? AND user = ?")
            .execute(arguments: [app, user])
        return db.changesCount
    }

    /// The devices of each user, newest first; an empty app means all apps.
    static func devices(
        of keys: ArraySlice<UserKey>, nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database,
        _ found: (UserKey, [RegisteredDevice]) -> Void
    ) throws {
        let now = Int64(clamping: nowUnixMs)
        var rest = keys
        while let first = rest.first {
            guard !first.app.isEmpty else {
                found(first, try devicesInAnyApp(of: first.user, now, hot, db))
                rest.removeFirst()
                continue
            }
            let limit =
                rest.count > 2 * DeviceSQL.fewUsers ? DeviceSQL.usersMax : DeviceSQL.fewUsers
            let some = rest.prefix(limit).prefix { $0.app == first.app }
            rest = rest.dropFirst(some.count)
            try devices(of: some, in: first.app, now, hot, db, found)
        }
    }

    private static func devices(
        of keys: ArraySlice<UserKey>, in app: String, _ now: Int64, _ hot: HotStatements,
        _ db: Database,
        _ found: (UserKey, [RegisteredDevice]) -> Void
    ) throws {
        let isFew = keys.count <= DeviceSQL.fewUsers
        let rows = try hot.statement(isFew ? .devicesOfFewUsers : .devicesOfUsers, db)
        for key in keys { rows.bind(key.user) }
        // Matches no user.
        for _ in keys.count..<(isFew ? DeviceSQL.fewUsers : DeviceSQL.usersMax) { rows.bind(nil) }
        rows.bind(app)
        var number = 0
        var devices: [RegisteredDevice] = []
        func finish(before end: Int) {
            while number < end {
                found(keys[keys.startIndex + number], newestFirst(devices))
                devices.removeAll(keepingCapacity: true)
                number += 1
            }
        }
        while try rows.step() {
            finish(before: Int(rows.integer(0)))
            let user = keys[keys.startIndex + number].user
            devices.append(device(rows, from: 1, now, app: app, user: user))
        }
        finish(before: keys.count)
    }

    private static func devicesInAnyApp(
        of user: String, _ now: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> [RegisteredDevice] {
        let rows = try hot.statement(.devicesOfUser, db)
        rows.bind(user)
        var found: [RegisteredDevice] = []
        while try rows.step() { found.append(device(rows, now)) }
        return newestFirst(found)
    }

    /// Sorted here: most users have one device, and SQLite would set up a sorter for each.
    private static func newestFirst(_ found: [RegisteredDevice]) -> [RegisteredDevice] {
        guard found.count > 1 else { return found }
        return found.sorted {
            ($0.device.registeredUnixMs, $0.device.registration)
                > ($1.device.registeredUnixMs, $1.device.registration)
        }
    }

    /// The devices with a token, newest first; an empty app means all apps.
    static func find(
        app: String, token: String, nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws -> [RegisteredDevice] {
        let now = Int64(clamping: nowUnixMs)
        let rows = try hot.statement(.devicesWithToken, db)
        rows.bind(token)
        rows.bind(DeviceToken.hexadecimal(token))
        rows.bind(app)
        rows.bind(app)
        var found: [RegisteredDevice] = []
        while try rows.step() { found.append(device(rows, now)) }
        return newestFirst(found)
    }

    /// A row of `DeviceSQL.devices`.
    private static func device(_ row: HotStatement, _ now: Int64) -> RegisteredDevice {
        device(row, from: 2, now, app: row.text(0), user: row.text(1))
    }

    /// A row whose column `first` is the first of a device's own.
    private static func device(
        _ row: HotStatement, from first: Int32, _ now: Int64, app: String, user: String
    ) -> RegisteredDevice {
        RegisteredDevice(
            device: Device(
                app: app, platform: row.text(first + 1), provider: row.text(first + 2),
                token: row.text(first), sourceToken: row.text(first + 3), user: user,
                locale: row.text(first + 4),
                registeredUnixMs: UInt64(clamping: row.integer(first + 5)),
                attributes: [Attribute](jsonText: row.text(first + 7)),
                registration: UInt64(clamping: row.integer(first + 8))),
            isOnline: row.integer(first + 6) > now)
    }

    /// Applies a change; without a token it means all of the user's devices.
    static func apply(_ change: DeviceChange, nowUnixMs: UInt64, _ db: Database) throws {
        let device = change.device
        switch change.kind {
        case .registered:
            _ = try register(
                device, isUnique: !change.isShared,
                among: change.platforms.union([device.platform]),
                nowUnixMs: nowUnixMs, db)
        case .unregistered where device.token.isEmpty:
            _ = try unregister(app: device.app, user: device.user, db)
        // Another user may have it by now.
        case .unregistered:
            for known in try find(app: device.app, token: device.token, db)
            where change.covers(platform: known.device.platform)
                && (device.user.isEmpty || known.device.user == device.user)
            {
                _ = try unregister(known.device, db)
            }
        case .invalid, .proven, .unproven: break
        }
    }

    static func setPresence(
        _ key: UserKey, token: String?, onlineUntilUnixMs: UInt64, nowUnixMs: UInt64,
        _ db: Database
    ) throws -> Int {
        let (until, now) = (Int64(clamping: onlineUntilUnixMs), Int64(clamping: nowUnixMs))
        let set = "UPDATE device SET online = ?, seen = ? WHERE app = ? AND user = ?"
        if let token {
            try db.cachedStatement(sql: "\(set) AND \(DeviceSQL.hasToken)").execute(arguments: [
                until, now, key.app, key.user, token, DeviceToken.hexadecimal(token),
            ])
        } else {
            try db.cachedStatement(sql: set).execute(arguments: [until, now, key.app, key.user])
        }
        return db.changesCount
    }

    /// Applies a provider's news about a token. Returns the devices it concerns.
    static func learn(_ news: TokenNews, _ db: Database) throws -> (Invalidation, [Device]) {
        switch news {
        case .nothing: return (.unknown, [])
        case .dead(let app, let token, let platforms, let since):
            let known = try find(app: app, token: token, db).among(platforms)
            return try invalidate(known, goneSinceUnixMs: since, db)
        case .moved(let app, let old, let platforms, let new):
            let moved = try find(app: app, token: old, db).among(platforms)
            let owners = try find(app: app, token: new, db).among(platforms)
            for device in moved {
                // The new token may be registered already.
                if owners.contains(where: { $0.app == device.app }) {
                    _ = try unregister(device, db)
                } else {
                    try db.cachedStatement(
                        sql: "UPDATE device SET token = ?, source_token = '' WHERE id = ?"
                    ).execute(arguments: [new, Int64(clamping: device.registration)])
                }
            }
            return (moved.isEmpty ? .unknown : .removed, moved)
        }
    }

    private static func find(
        app: String, token: String, _ db: Database
    ) throws -> [RegisteredDevice] {
        try find(app: app, token: token, nowUnixMs: 0, HotStatements(), db)
    }

    private static func invalidate(
        _ known: [Device], goneSinceUnixMs: UInt64, _ db: Database
    ) throws -> (Invalidation, [Device]) {
        // It was registered again since, so it is valid.
        let living = known.filter { goneSinceUnixMs > 0 && $0.registeredUnixMs > goneSinceUnixMs }
        var gone: [Device] = []
        for device in known where !living.contains(where: { $0.app == device.app }) {
            _ = try unregister(device, db)
            gone.append(device)
        }
        if known.isEmpty { return (.unknown, []) }
        return (gone.count < known.count ? .kept : .removed, gone)
    }
}
