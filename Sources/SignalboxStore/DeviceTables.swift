internal import GRDB
internal import SignalboxCore
internal import SignalboxJSON

/// The statements of the device registry.
enum DeviceTables {
    static func register(
        _ device: Device, isUnique: Bool, nowUnixMs: UInt64, _ db: Database
    ) throws -> Int {
        let now = Int64(clamping: nowUnixMs)
        let kind = device.provider.isEmpty ? device.platform : device.provider
        if isUnique {
            // The token now belongs to this user alone.
            try db.cachedStatement(
                sql: "DELETE FROM device WHERE app = ? AND token = ? AND user <> ?"
            ).execute(arguments: [device.app, device.token, device.user])
        }
        // A new id makes it the newest, even within a millisecond.
        try db.cachedStatement(
            sql: """
                INSERT INTO device (app, token, kind, platform, provider, source_token, user, locale,
                  registered, seen, online, attributes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
                ON CONFLICT (app, token, user) DO UPDATE SET id = (SELECT max(id) + 1 FROM device),
                  kind = excluded.kind, platform = excluded.platform, provider = excluded.provider,
                  source_token = excluded.source_token, locale = excluded.locale,
                  registered = excluded.registered, seen = excluded.seen, online = 0,
                  attributes = excluded.attributes
                """
        ).execute(arguments: [
            device.app, device.token, kind, device.platform, device.provider, device.sourceToken,
            device.user, device.locale, now, now,
            device.attributes.isEmpty ? "" : device.attributes.jsonText,
        ])
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

    private static func unregister(app: String, token: String, _ db: Database) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM device WHERE app = ? AND \(DeviceSQL.hasToken)")
            .execute(arguments: [app, token, DeviceToken.hexadecimal(token)])
        return db.changesCount
    }

    static func unregister(app: String, token: String, user: String, _ db: Database) throws -> Int {
        try db.cachedStatement(
            sql: "DELETE FROM device WHERE app = ? AND user = ? AND \(DeviceSQL.hasToken)"
        ).execute(arguments: [app, user, token, DeviceToken.hexadecimal(token)])
        return db.changesCount
    }

    static func setAttributes(
        _ attributes: [Attribute], app: String, token: String, user: String, _ db: Database
    ) throws -> Int {
        try db.cachedStatement(
            sql: "UPDATE device SET attributes = ? WHERE app = ? AND token = ? AND user = ?"
        ).execute(arguments: [attributes.jsonText, app, token, user])
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
        var devices: [(id: Int64, device: RegisteredDevice)] = []
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
            devices.append((rows.integer(9), device(rows, from: 1, now, app: app, user: user)))
        }
        finish(before: keys.count)
    }

    private static func devicesInAnyApp(
        of user: String, _ now: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> [RegisteredDevice] {
        let rows = try hot.statement(.devicesOfUser, db)
        rows.bind(user)
        var found: [(id: Int64, device: RegisteredDevice)] = []
        while try rows.step() { found.append((rows.integer(10), device(rows, now))) }
        return newestFirst(found)
    }

    /// Sorted here: most users have one device, and SQLite would set up a sorter for each.
    private static func newestFirst(
        _ found: [(id: Int64, device: RegisteredDevice)]
    ) -> [RegisteredDevice] {
        guard found.count > 1 else { return found.map(\.device) }
        return found.sorted {
            ($0.device.device.registeredUnixMs, $0.id)
                > ($1.device.device.registeredUnixMs, $1.id)
        }.map(\.device)
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
        var found: [(id: Int64, device: RegisteredDevice)] = []
        while try rows.step() { found.append((rows.integer(10), device(rows, now))) }
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
                attributes: [Attribute](jsonText: row.text(first + 7))),
            isOnline: row.integer(first + 6) > now)
    }

    /// Applies a change; without a token it means all of the user's devices.
    static func apply(_ change: DeviceChange, nowUnixMs: UInt64, _ db: Database) throws {
        let device = change.device
        switch change.kind {
        case .registered:
            _ = try register(device, isUnique: !change.isShared, nowUnixMs: nowUnixMs, db)
        case .unregistered where device.token.isEmpty:
            _ = try unregister(app: device.app, user: device.user, db)
        case .unregistered where device.user.isEmpty:
            _ = try unregister(app: device.app, token: device.token, db)
        // Another user may have it by now.
        case .unregistered:
            _ = try unregister(app: device.app, token: device.token, user: device.user, db)
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
        func find(_ app: String, _ token: String) throws -> [Device] {
            try Self.find(app: app, token: token, nowUnixMs: 0, HotStatements(), db).map(\.device)
        }
        switch news {
        case .nothing: return (.unknown, [])
        case .dead(let app, let token, let since):
            return try invalidate(try find(app, token), goneSinceUnixMs: since, db)
        case .moved(let app, let old, let new):
            let (moved, owners) = (try find(app, old), try find(app, new))
            for device in moved {
                // The new token may be registered already.
                if owners.contains(where: { $0.app == device.app }) {
                    _ = try unregister(
                        app: device.app, token: device.token, user: device.user, db)
                } else {
                    try db.cachedStatement(
                        sql: """
                            UPDATE device SET token = ?, source_token = ''
                            WHERE app = ? AND token = ? AND user = ?
                            """
                    ).execute(arguments: [new, device.app, device.token, device.user])
                }
            }
            return (moved.isEmpty ? .unknown : .removed, moved)
        }
    }

    private static func invalidate(
        _ known: [Device], goneSinceUnixMs: UInt64, _ db: Database
    ) throws -> (Invalidation, [Device]) {
        // It was registered again since, so it is valid.
        let living = known.filter { goneSinceUnixMs > 0 && $0.registeredUnixMs > goneSinceUnixMs }
        var gone: [Device] = []
        for device in known where !living.contains(where: { $0.app == device.app }) {
            _ = try unregister(app: device.app, token: device.token, user: device.user, db)
            gone.append(device)
        }
        if known.isEmpty { return (.unknown, []) }
        return (gone.count < known.count ? .kept : .removed, gone)
    }
}
