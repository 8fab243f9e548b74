public import SignalboxCore
internal import SignalboxJSON

/// The statements of the device registry.
public enum DeviceTable {
    // MARK: Rows

    /// The columns of a device that its user does not tell.
    public static let own =
        "token, platform, provider, source_token, locale, registered, online, attributes, id"

    /// From `own`, beginning at the column `first`.
    public static func device(
        _ row: any TableRow, from first: Int, app: String, user: String, nowUnixMs: Int64
    ) -> RegisteredDevice {
        RegisteredDevice(
            device: Device(
                app: app, platform: row.text(first + 1), provider: row.text(first + 2),
                token: row.text(first), sourceToken: row.text(first + 3), user: user,
                locale: row.text(first + 4), registeredUnixMs: row.time(first + 5),
                attributes: [Attribute](jsonText: row.text(first + 7)),
                registration: row.time(first + 8)),
            isOnline: row.number(first + 6) > nowUnixMs)
    }

    /// From app, user and `own`, with which the table begins.
    public static func device(
        _ row: any TableRow, from first: Int = 0, nowUnixMs: Int64
    ) -> RegisteredDevice {
        device(
            row, from: first + 2, app: row.text(first), user: row.text(first + 1),
            nowUnixMs: nowUnixMs)
    }

    private static func kind(_ device: Device) -> String {
        device.provider.isEmpty ? device.platform : device.provider
    }

    private static func json(_ attributes: [Attribute]) -> String {
        attributes.isEmpty ? "" : attributes.jsonText
    }

    /// A whole row.
    static func values(_ stored: StoredDevice) -> [TableValue] {
        let device = stored.device
        return [
            .text(device.app), .text(device.user), .text(device.token), .text(device.platform),
            .text(device.provider), .text(device.sourceToken), .text(device.locale),
            .number(clamping: device.registeredUnixMs),
            .number(clamping: stored.onlineUntilUnixMs), .text(json(device.attributes)),
            .number(clamping: stored.number), .text(kind(device)),
        ]
    }

    // MARK: Registering

    /// Gives out the number that `put` uses. SQLite's counter, if damaged, continues after the largest number in use.
    private static let nextNumber = TableStatement(
        "next_device", "SELECT nextval('signalbox.device_number')",
        sqlite: """
            INSERT INTO counter (name, value)
            VALUES ('device', (SELECT coalesce(max(id), 0) FROM device) + 1)
            ON CONFLICT (name) DO UPDATE SET value = min(\(StoredNumber.max), max(
              CAST(value AS INTEGER), (SELECT coalesce(max(id), 0) FROM device))) + 1
            """)

    private static func put(_ number: String) -> String {
        """
        INSERT INTO signalbox.device (\(Tables.device.names))
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, \(number), $10)
        ON CONFLICT (app, token, platform, user_id) DO UPDATE SET id = excluded.id,
          kind = excluded.kind, provider = excluded.provider, source_token = excluded.source_token,
          locale = excluded.locale, registered = excluded.registered, online = 0,
          attributes = excluded.attributes
        """
    }

    private static let put = TableStatement(
        "put_device", put("currval('signalbox.device_number')"),
        sqlite: put("(SELECT value FROM counter WHERE name = 'device')"))

    /// Removes devices. The counters of users whose last device goes, go too: a trigger does it in SQLite.
    private static func remove(_ name: String, _ condition: String) -> TableStatement {
        let delete = "DELETE FROM signalbox.device AS d WHERE \(condition)"
        return TableStatement(
            name,
            """
            WITH gone AS (\(delete) RETURNING d.app, d.user_id, d.id),
              ended AS (DELETE FROM signalbox.badge b
                USING (SELECT DISTINCT app, user_id FROM gone) g
                WHERE b.app = g.app AND b.user_id = g.user_id AND NOT EXISTS (
                  SELECT 1 FROM signalbox.device d WHERE d.app = g.app AND d.user_id = g.user_id
                    AND NOT EXISTS (SELECT 1 FROM gone x WHERE x.id = d.id)))
            SELECT 1 FROM gone
            """, sqlite: delete)
    }

    /// The same phone's entries under other names: the user's own and, if it is unique, those of other users.
    private static let removeOthers = remove(
        "remove_others",
        """
        d.app = $1 AND d.token = $2 AND d.platform = $4
        AND (d.user_id <> $3 AND $5 = 1 OR d.user_id = $3 AND d.platform <> $6)
        """)

    private static func oldest(_ condition: String, _ limit: Int) -> String {
        """
        SELECT id FROM signalbox.device WHERE app = $1 AND user_id = $2\(condition)
        ORDER BY registered DESC, id DESC LIMIT 1000000 OFFSET \(limit)
        """
    }

    private static let removeOldest = remove(
        "remove_oldest",
        """
        d.app = $1 AND d.user_id = $2
        AND (d.id IN (\(oldest(" AND kind = $3", DeviceRules.tokensMax)))
          OR d.id IN (\(oldest("", DeviceRules.devicesMax))))
        """)

    static func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, nowUnixMs: Int64,
        _ link: any TableLink
    ) throws -> Int {
        try link.send(nextNumber, [])
        try link.send(
            put,
            [
                .text(device.app), .text(device.user), .text(device.token),
                .text(device.platform), .text(device.provider), .text(device.sourceToken),
                .text(device.locale), .number(nowUnixMs), .text(json(device.attributes)),
                .text(kind(device)),
            ])
        // After it: the user has a device all the time, and so keeps the badge.
        for platform in platforms.sorted() {
            try link.send(
                removeOthers,
                [
                    .text(device.app), .text(device.token), .text(device.user), .text(platform),
                    .number(isUnique ? 1 : 0), .text(device.platform),
                ])
        }
        return try link.change(
            removeOldest, [.text(device.app), .text(device.user), .text(kind(device))])
    }

    // MARK: Other changes

    private static let removeOne = remove(
        "remove_one",
        """
        d.app = $1 AND d.token IN ($2, $3) AND d.user_id = $4 AND ($5 = '' OR d.platform = $5)
        """)
    private static let removeUser = remove("remove_user", "d.app = $1 AND d.user_id = $2")

    /// One without a platform stands for all of the user's with the token.
    static func unregister(_ device: Device, _ link: any TableLink) throws -> Int {
        try link.change(
            removeOne,
            [
                .text(device.app), .text(device.token),
                .text(DeviceToken.hexadecimal(device.token)), .text(device.user),
                .text(device.platform),
            ])
    }

    /// Applies a change; without a token it means all of the user's devices.
    static func apply(
        _ change: DeviceChange, nowUnixMs: Int64, _ link: any TableLink
    ) throws {
        let device = change.device
        switch change.kind {
        case .registered:
            _ = try register(
                device, isUnique: !change.isShared,
                among: change.platforms.union([device.platform]), nowUnixMs: nowUnixMs, link)
        case .unregistered where device.token.isEmpty:
            try link.send(removeUser, [.text(device.app), .text(device.user)])
        // Another user may have it by now.
        case .unregistered:
            for known in try find(app: device.app, token: device.token, link)
            where change.covers(platform: known.device.platform)
                && (device.user.isEmpty || known.device.user.hasSameBytes(as: device.user))
            {
                _ = try unregister(known.device, link)
            }
        case .invalid, .proven, .unproven: break
        }
    }

    private static func place(_ device: Device) -> [TableValue] {
        [.text(device.app), .text(device.token), .text(device.platform), .text(device.user)]
    }

    private static let isPlace = "app = $1 AND token = $2 AND platform = $3 AND user_id = $4"
    private static let setAttributes = TableStatement(
        "set_attributes", "UPDATE signalbox.device SET attributes = $5 WHERE \(isPlace)")
    private static let moveToken = TableStatement(
        "move_token",
        "UPDATE signalbox.device SET token = $5, source_token = '' WHERE \(isPlace)")
    private static let setPresence = TableStatement(
        "set_presence",
        """
        UPDATE signalbox.device SET online = $3
        WHERE app = $1 AND user_id = $2 AND ($4 IS NULL OR token IN ($4, $5))
        """)

    static func setAttributes(
        _ attributes: [Attribute], of device: Device, _ link: any TableLink
    ) throws -> Int {
        try link.change(setAttributes, place(device) + [.text(attributes.jsonText)])
    }

    static func setPresence(
        _ user: UserKey, token: String?, untilUnixMs: Int64, _ link: any TableLink
    ) throws -> Int {
        try link.change(
            setPresence,
            [
                .text(user.app), .text(user.user), .number(untilUnixMs), .text(token),
                .text(token.map(DeviceToken.hexadecimal)),
            ])
    }

    /// Applies a provider's news about a token. Returns the devices it concerns.
    static func learn(
        _ news: TokenNews, _ link: any TableLink
    ) throws -> (Invalidation, [Device]) {
        switch news {
        case .nothing: return (.unknown, [])
        case .dead(let app, let token, let platforms, let since):
            let all = try find(app: app, token: token, link).among(platforms)
            // It was registered again since, so it is valid.
            let living = Set(all.filter { since > 0 && $0.registeredUnixMs > since }.map(\.app))
            let gone = all.filter { !living.contains($0.app) }
            for device in gone { _ = try unregister(device, link) }
            if all.isEmpty { return (.unknown, []) }
            return (gone.count < all.count ? .kept : .removed, gone)
        case .moved(let app, let old, let platforms, let new):
            let moved = try find(app: app, token: old, link).among(platforms)
            let owners = Set(try find(app: app, token: new, link).among(platforms).map(\.app))
            for device in moved {
                // The new token may be registered already.
                if owners.contains(device.app) {
                    _ = try unregister(device, link)
                } else {
                    try link.send(moveToken, place(device) + [.text(new)])
                }
            }
            return (moved.isEmpty ? .unknown : .removed, moved)
        }
    }

    // MARK: Look-ups

    private static let withToken = TableStatement(
        "devices_with_token",
        """
        SELECT app, user_id, \(own) FROM signalbox.device WHERE token IN ($1, $2)
          AND ($3 = '' OR app = $3)
        """)

    /// The devices with a token, newest first; an empty app means all apps.
    static func find(
        app: String, token: String, nowUnixMs: Int64 = 0, _ link: any TableLink
    ) throws -> [RegisteredDevice] {
        // A caller may spell a token differently from the registry.
        newestFirst(
            try link.all(
                withToken, [.text(token), .text(DeviceToken.hexadecimal(token)), .text(app)]
            ) { device($0, nowUnixMs: nowUnixMs) })
    }

    /// Sorted here: most users have one device, and a database would set up a sorter for each.
    public static func newestFirst(_ found: [RegisteredDevice]) -> [RegisteredDevice] {
        guard found.count > 1 else { return found }
        return found.sorted {
            ($0.device.registeredUnixMs, $0.device.registration)
                > ($1.device.registeredUnixMs, $1.device.registration)
        }
    }
}
