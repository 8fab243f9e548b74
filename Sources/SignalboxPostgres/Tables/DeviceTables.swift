internal import SignalboxCore
internal import SignalboxJSON

/// The statements of the device registry.
enum DeviceTables {
    // MARK: Changes

    /// Removes devices, and the counters of users whose last device goes. One row: how many.
    private static func remove(_ name: String, _ condition: String) -> Statement {
        Statement(
            name,
            """
            WITH gone AS (DELETE FROM signalbox.device d WHERE \(condition)
                RETURNING d.app, d.user_id, d.number),
              ended AS (DELETE FROM signalbox.badge b
                USING (SELECT DISTINCT app, user_id FROM gone) g
                WHERE b.app = g.app AND b.user_id = g.user_id AND NOT EXISTS (
                  SELECT 1 FROM signalbox.device d WHERE d.app = g.app AND d.user_id = g.user_id
                    AND NOT EXISTS (SELECT 1 FROM gone x WHERE x.number = d.number)))
            SELECT count(*) FROM gone
            """)
    }

    /// The same phone's entries under other names: the user's own and, if it is unique, those of other users.
    private static let removeOthers = remove(
        "remove_others",
        """
        d.app = $1::text AND d.token = $2::text AND d.platform = ANY ($4::text[])
        AND (d.user_id <> $3::text AND $5::bigint = 1 OR d.user_id = $3::text AND d.platform <> $6::text)
        """)
    private static let removeOne = remove(
        "remove_one",
        """
        d.app = $1::text AND d.token IN ($2::text, $3::text) AND d.user_id = $4::text
        AND ($5::text = '' OR d.platform = $5::text)
        """)
    private static let removeUser = remove(
        "remove_user", "d.app = $1::text AND d.user_id = $2::text")
    private static let removeOldest = remove(
        "remove_oldest",
        """
        d.app = $1::text AND d.user_id = $2::text AND (d.number IN (
          SELECT number FROM signalbox.device
          WHERE app = $1::text AND user_id = $2::text AND kind = $3::text
          ORDER BY registered DESC, number DESC OFFSET \(DeviceRules.tokensMax))
        OR d.number IN (
          SELECT number FROM signalbox.device WHERE app = $1::text AND user_id = $2::text
          ORDER BY registered DESC, number DESC OFFSET \(DeviceRules.devicesMax)))
        """)

    private static let put = Statement(
        "put_device",
        """
        INSERT INTO signalbox.device (app, token, user_id, number, kind, platform, provider,
          source_token, locale, registered, online, attributes)
        VALUES ($1::text, $2::text, $3::text, nextval('signalbox.device_number'), $4::text, $5::text,
          $6::text, $7::text, $8::text, $9::bigint, 0, $10::text)
        ON CONFLICT (app, token, platform, user_id) DO UPDATE SET number = excluded.number,
          kind = excluded.kind, provider = excluded.provider, source_token = excluded.source_token,
          locale = excluded.locale, registered = excluded.registered, online = 0, attributes = excluded.attributes
        """)

    private static func texts(_ values: String...) -> Parameters {
        var out = Parameters()
        for value in values { out.add(value) }
        return out
    }

    static func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, nowUnixMs: Int64,
        _ transaction: Transaction
    ) throws(TransactionFault) -> Int {
        let kind = device.provider.isEmpty ? device.platform : device.provider
        var values = texts(
            device.app, device.token, device.user, kind, device.platform, device.provider,
            device.sourceToken, device.locale)
        values.add(nowUnixMs)
        values.add(device.attributes.isEmpty ? "" : device.attributes.jsonText)
        transaction.send(put, values)
        // After it: the user has a device all the time, and so keeps the badge.
        var others = texts(device.app, device.token, device.user)
        others.add(platforms.sorted())
        others.add(Int64(isUnique ? 1 : 0))
        others.add(device.platform)
        transaction.send(removeOthers, others)
        return Int(
            try transaction.run(removeOldest, texts(device.app, device.user, kind)).number(0, 0))
    }

    /// One without a platform stands for all of the user's with the token.
    static func unregister(
        _ device: Device, _ transaction: Transaction
    ) throws(TransactionFault) -> Int {
        let values = texts(
            device.app, device.token, DeviceToken.hexadecimal(device.token), device.user,
            device.platform)
        return Int(try transaction.run(removeOne, values).number(0, 0))
    }

    private static func known(
        _ app: String, _ token: String, _ transaction: Transaction
    ) throws(TransactionFault) -> [RegisteredDevice] {
        let rows = try transaction.run(find, findParameters(app: app, token: token))
        return devices(rows, from: 0, nowUnixMs: 0)
    }

    /// Applies a change; without a token it means all of the user's devices.
    static func apply(
        _ change: DeviceChange, nowUnixMs: Int64, _ transaction: Transaction
    ) throws(TransactionFault) {
        let device = change.device
        switch change.kind {
        case .registered:
            _ = try register(
                device, isUnique: !change.isShared,
                among: change.platforms.union([device.platform]),
                nowUnixMs: nowUnixMs, transaction)
        case .unregistered where device.token.isEmpty:
            _ = try transaction.run(removeUser, texts(device.app, device.user))
        // Another user may have it by now.
        case .unregistered:
            for known in try known(device.app, device.token, transaction)
            where change.covers(platform: known.device.platform)
                && (device.user.isEmpty || known.device.user == device.user)
            {
                _ = try unregister(known.device, transaction)
            }
        case .invalid, .proven, .unproven: break
        }
    }

    static func setAttributes(
        _ attributes: [Attribute], of device: Device, _ transaction: Transaction
    ) throws(TransactionFault) -> Int {
        try transaction.run(
            Statement(
                "set_attributes",
                """
                UPDATE signalbox.device SET attributes = $5::text
                WHERE app = $1::text AND token = $2::text AND platform = $3::text AND user_id = $4::text
                """),
            texts(device.app, device.token, device.platform, device.user, attributes.jsonText)
        ).changed
    }

    static func setPresence(
        _ user: UserKey, token: String?, untilUnixMs: Int64, _ transaction: Transaction
    ) throws(TransactionFault) -> Int {
        var values = texts(user.app, user.user)
        values.add(untilUnixMs)
        values.add(token)
        values.add(token.map(DeviceToken.hexadecimal))
        return try transaction.run(
            Statement(
                "set_presence",
                """
                UPDATE signalbox.device SET online = $3::bigint
                WHERE app = $1::text AND user_id = $2::text
                  AND ($4::text IS NULL OR token IN ($4::text, $5::text))
                """), values
        ).changed
    }

    /// Applies a provider's news about a token. Returns the devices it concerns.
    static func learn(
        _ news: TokenNews, _ transaction: Transaction
    ) throws(TransactionFault) -> (Invalidation, [Device]) {
        switch news {
        case .nothing: return (.unknown, [])
        case .dead(let app, let token, let platforms, let since):
            let all = try known(app, token, transaction).among(platforms)
            // It was registered again since, so it is valid.
            let living = Set(all.filter { since > 0 && $0.registeredUnixMs > since }.map(\.app))
            let gone = all.filter { !living.contains($0.app) }
            for device in gone {
                _ = try unregister(device, transaction)
            }
            if all.isEmpty { return (.unknown, []) }
            return (gone.count < all.count ? .kept : .removed, gone)
        case .moved(let app, let old, let platforms, let new):
            let moved = try known(app, old, transaction).among(platforms)
            let owners = Set(try known(app, new, transaction).among(platforms).map(\.app))
            for device in moved {
                // The new token may be registered already.
                guard !owners.contains(device.app) else {
                    _ = try unregister(device, transaction)
                    continue
                }
                transaction.send(
                    Statement(
                        "move_token",
                        """
                        UPDATE signalbox.device SET token = $5::text, source_token = ''
                        WHERE app = $1::text AND token = $2::text AND platform = $3::text
                          AND user_id = $4::text
                        """),
                    texts(device.app, device.token, device.platform, device.user, new))
            }
            return (moved.isEmpty ? .unknown : .removed, moved)
        }
    }

    // MARK: Look-ups

    private static let columns = """
        d.app, d.user_id, d.token, d.platform, d.provider, d.source_token, d.locale, d.registered,
        d.online, d.attributes, d.number
        """

    static let find = Statement(
        "devices_with_token",
        """
        SELECT \(columns) FROM signalbox.device d WHERE d.token IN ($1::text, $2::text)
          AND ($3::text = '' OR d.app = $3::text)
        ORDER BY d.registered DESC, d.number DESC
        """)

    static func findParameters(app: String, token: String) -> Parameters {
        texts(token, DeviceToken.hexadecimal(token), app)
    }

    private static let ofUsers = Statement(
        "devices_of_users",
        """
        SELECT u.place, \(columns)
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (app, name, place)
          JOIN signalbox.device d ON d.user_id = u.name AND (u.app = '' OR d.app = u.app)
        ORDER BY u.place, d.registered DESC, d.number DESC
        """)

    /// The devices of each user, newest first; an empty app means all apps.
    static func devices(
        of keys: [UserKey], nowUnixMs: Int64, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> [UserKey: [RegisteredDevice]] {
        var values = Parameters()
        values.add(keys.map(\.app))
        values.add(keys.map(\.user))
        let rows = try link.run(ofUsers, values, byNs: deadlineNs)
        var out = [UserKey: [RegisteredDevice]](minimumCapacity: keys.count)
        for key in keys { out[key] = [] }
        for row in 0..<rows.count {
            let key = keys[Int(rows.number(row, 0)) - 1]
            out[key]?.append(device(rows, row, from: 1, nowUnixMs: nowUnixMs))
        }
        return out
    }

    static func devices(
        _ rows: Rows, from column: Int, nowUnixMs: Int64
    ) -> [RegisteredDevice] {
        (0..<rows.count).map { device(rows, $0, from: column, nowUnixMs: nowUnixMs) }
    }

    private static func device(
        _ rows: Rows, _ row: Int, from column: Int, nowUnixMs: Int64
    ) -> RegisteredDevice {
        func text(_ index: Int) -> String { rows.text(row, column + index) }
        return RegisteredDevice(
            device: Device(
                app: text(0), platform: text(3), provider: text(4), token: text(2),
                sourceToken: text(5), user: text(1), locale: text(6),
                registeredUnixMs: UInt64(clamping: rows.number(row, column + 7)),
                attributes: [Attribute](jsonText: text(9)),
                registration: UInt64(clamping: rows.number(row, column + 10))),
            isOnline: rows.number(row, column + 8) > nowUnixMs)
    }
}
