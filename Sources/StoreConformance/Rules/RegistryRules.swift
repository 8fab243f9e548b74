internal import SignalboxCore

extension StoreConformance {
    private static func device(_ token: String, _ user: String, app: String = "a") -> Device {
        Device(app: app, platform: "ios", provider: "apns", token: token, user: user)
    }

    /// Devices, their users, and badge counters.
    static let registryRules: [StoreRule] = [
        StoreRule("a token is one user's, or of all who share it") { probe in
            let store = try await probe.open()
            _ = try await store.store.register(device("t", "u"), isUnique: true)
            _ = try await store.store.register(device("t", "v"), isUnique: false)
            try probe.equal(Set(try await store.find("a", "t").map(\.device.user)), ["u", "v"])
            _ = try await store.store.register(device("t", "w"), isUnique: true)
            try probe.equal(try await store.find("a", "t").map(\.device.user), ["w"])
            try probe.equal(try await store.store.devices(app: "a", user: "u"), [])
            let late = try await store.store.unregister(
                [Device(app: "a", token: "t", user: "u")], reports: [])
            try probe.equal(late, 0, "a late logout of the former user")
            let muted = try await store.store.setAttributes([], of: device("t", "u"))
            try probe.equal(muted, 0, "attributes of the former user")
            let change = DeviceChange(kind: .unregistered, device: device("t", "u"))
            try await store.result { store.store.change([change], reports: [], done: $0) }
            try probe.equal(
                try await store.store.unregister(
                    [Device(app: "a", token: "t", user: "w")], reports: []), 1)
            try probe.equal(try await store.find("", "t"), [])
            await store.store.close()
        },
        StoreRule("the same text is another token on a platform of another sender") { probe in
            let store = try await probe.open()
            func named(_ platform: String, _ user: String, among: Set<String> = []) async throws {
                _ = try await store.store.register(
                    Device(app: "a", platform: platform, token: "t", user: user), isUnique: true,
                    among: among.union([platform]), reports: [])
            }
            func found() async throws -> [String] {
                try await store.find("a", "t").map {
                    "\($0.device.platform) \($0.device.user)"
                }.sorted()
            }
            try await named("mail", "u")
            try await named("phone", "v")
            try probe.equal(try await found(), ["mail u", "phone v"])
            // Other names of the same sender are the same phone, for its user and for others.
            try await named("phone-2", "v", among: ["phone"])
            try probe.equal(try await found(), ["mail u", "phone-2 v"])
            try await named("phone", "w", among: ["phone-2"])
            try probe.equal(try await found(), ["mail u", "phone w"])
            for platforms: Set<String> in [["phone-2"], ["phone"]] {
                try await store.result {
                    store.store.learn(
                        .moved(app: "a", token: "t", among: platforms, newToken: "n"),
                        reports: { _, _ in [] }, done: $0)
                }
            }
            try probe.equal(try await found(), ["mail u"])
            try probe.equal(try await store.find("a", "n").map(\.device.user), ["w"])
            try await named("phone", "v")
            try await store.result {
                store.store.learn(
                    .dead(app: "a", token: "t", among: ["phone"], sinceUnixMs: 0),
                    reports: { _, _ in [] }, done: $0)
            }
            try probe.equal(try await found(), ["mail u"])
            var logout = DeviceChange(
                kind: .unregistered, device: Device(app: "a", platform: "phone", token: "t"))
            for platform in ["phone", "mail"] {
                logout.platforms = [platform]
                try await store.result { store.store.change([logout], reports: [], done: $0) }
                try probe.equal(try await found(), platform == "mail" ? [] : ["mail u"])
            }
            await store.store.close()
        },
        StoreRule("no registration has the number of another one") { probe in
            var store = try await probe.open()
            var numbers: [UInt64] = []
            for round in 0..<3 {
                for token in ["1", "2", "1"] {
                    _ = try await store.store.register(device(token, "u"), isUnique: true)
                    let known = try await store.find("a", token).first
                    numbers.append(known?.device.registration ?? 0)
                }
                // The newest is gone, and its number is not given to the next one.
                for token in ["1", "2"] {
                    _ = try await store.store.unregister([device(token, "u")], reports: [])
                }
                guard round == 1, probe.engine.has(.durable) else { continue }
                await store.store.close()
                store = try await probe.open()
            }
            try probe.equal(numbers, Set(numbers).sorted())
            try probe.expect(numbers.first ?? 0 > 0, "a registration without a number")
            await store.store.close()
        },
        StoreRule("the newest tokens of a kind stay") { probe in
            let store = try await probe.open()
            let most = DeviceRules.tokensMax
            for number in 0..<most + 2 {
                let gone = try await store.store.register(device("t\(number)", "u"), isUnique: true)
                try probe.equal(gone, number < most ? 0 : 1, "evicted by number \(number):")
            }
            let tokens = try await store.store.devices(app: "a", user: "u").map(\.device.token)
            try probe.equal(tokens, (2..<most + 2).reversed().map { "t\($0)" })
            await store.store.close()
        },
        StoreRule("of all kinds together, the newest tokens of a user stay") { probe in
            let store = try await probe.open()
            let most = DeviceRules.devicesMax
            for number in 0..<most + 3 {
                var one = device("t\(number)", "u")
                one.provider = "kind-\(number)"
                let gone = try await store.store.register(one, isUnique: true)
                try probe.equal(gone, number < most ? 0 : 1, "evicted by number \(number):")
            }
            let tokens = try await store.store.devices(app: "a", user: "u").map(\.device.token)
            try probe.equal(tokens, (3..<most + 3).reversed().map { "t\($0)" })
            // Another app's are counted apart.
            let other = try await store.store.register(
                device("x", "u", app: "b"), isUnique: true)
            try probe.equal(other, 0)
            await store.store.close()
        },
        StoreRule("devices are found by user, in one app or in all") { probe in
            let store = try await probe.open()
            // Unicode calls the names of "4" and "5" equivalent: "K" and the sign for kelvin.
            for (token, user, app) in [
                ("1", "u", "a"), ("2", "u", "b"), ("3", "v", "a"), ("4", "K", "a"),
                ("5", "\u{212A}", "a"),
            ] {
                _ = try await store.store.register(device(token, user, app: app), isUnique: true)
            }
            let keys = [
                UserKey(app: "a", user: "u"), UserKey(app: "", user: "u"),
                UserKey(app: "a", user: "nobody"), UserKey(app: "a", user: "v"),
                UserKey(app: "a", user: "K"), UserKey(app: "", user: "\u{212A}"),
            ]
            let found: [[RegisteredDevice]] = try await store.result {
                store.store.devices(of: keys, done: $0)
            }
            let tokens = found.map { $0.map(\.device.token).sorted() }
            let wanted = [["1"], ["1", "2"], [], ["3"], ["4"], ["5"]]
            try probe.equal(tokens, wanted, "in the order of the users:")
            await store.store.close()
        },
        StoreRule("presence ends by the store's clock, attributes stay") { probe in
            var store = try await probe.open()
            _ = try await store.store.register(device("t", "u"), isUnique: true)
            let count = try await store.store.setPresence(
                app: "a", user: "u", token: nil, onlineForMs: 4_000)
            try probe.equal(count, 1)
            let muted = [Attribute("muted", "agent")]
            _ = try await store.store.setAttributes(muted, of: device("t", "u"))
            if probe.engine.has(.durable) {
                await store.store.close()
                store = try await probe.open()
            }
            try probe.equal(try await store.find("a", "t").map(\.isOnline), [true])
            await probe.advance(ms: 4_000)
            let found = try await store.find("a", "t")
            try probe.equal(found.map(\.isOnline), [false])
            try probe.equal(found.map(\.device.attributes), [muted])
            await store.store.close()
        },
        StoreRule("a badge counts in the commit of its event, and goes with the user's devices") {
            probe in
            let store = try await probe.open()
            let user = UserKey(app: "a", user: "u")
            _ = try await store.store.register(device("t", "u"), isUnique: true)
            func count(_ key: String, _ number: Int32? = nil) async throws -> [Int32?]? {
                var item = Session.item([Session.delivery(try await store.ids(1)[0])], key: key)
                item.badges = [BadgeStep(user: user, number: number, places: [0])]
                return try await store.commit([item], dedupeMs: 60_000).badges[0]
            }
            try probe.equal(try await count("1"), [1])
            try probe.equal(try await count("2"), [2])
            try probe.equal(try await count("2"), nil, "a duplicate counts:")
            try probe.equal(try await count("3", 40), [40])
            try probe.equal(
                try await store.lease().deliveries.map(\.badge), [1, 2, 40], "of the deliveries:")
            try probe.equal(try await store.store.setBadge(7, of: user), true)
            try probe.equal(try await count("4"), [8])
            _ = try await store.store.unregister(
                [Device(app: "a", token: "t", user: "u")], reports: [])
            try probe.equal(try await count("5"), [nil])
            try probe.equal(try await store.store.setBadge(7, of: user), false)
            await store.store.close()
        },
        StoreRule("changes are done in their order, and again without harm") { probe in
            let store = try await probe.open()
            let registered = DeviceChange(kind: .registered, device: device("t", "u"))
            let logout = DeviceChange(kind: .unregistered, device: device("", "u"))
            for changes in [[registered], [registered], [logout, registered]] {
                try await store.result { store.store.change(changes, reports: [], done: $0) }
                try probe.equal(try await store.find("a", "t").map(\.device.user), ["u"])
            }
            for _ in 0..<2 {
                try await store.result { store.store.change([logout], reports: [], done: $0) }
                try probe.equal(try await store.find("a", "t"), [])
            }
            await store.store.close()
        },
        StoreRule("a change that shares a token leaves it to its other users") { probe in
            let store = try await probe.open()
            for user in ["u", "v"] {
                var change = DeviceChange(kind: .registered, device: device("t", user))
                change.isShared = true
                try await store.result { store.store.change([change], reports: [], done: $0) }
            }
            try probe.equal(Set(try await store.find("a", "t").map(\.device.user)), ["u", "v"])
            await store.store.close()
        },
    ]

    /// Reports are committed with their cause.
    static let outboxRules: [StoreRule] = [
        StoreRule("a change and its reports are one, in the order of the changes") { probe in
            let store = try await probe.open()
            let (told, tell) = AsyncStream.makeStream(of: Void.self)
            store.store.watchOutbox { tell.yield() }
            @Sendable func report(_ kind: DeviceChange.Kind, _ token: String) -> DeviceReport {
                var change = DeviceChange(kind: kind, device: device(token, "u"), timeUnixMs: 7)
                change.reason = "reason"
                change.subject = "subject"
                return DeviceReport(to: "source", change, eventID: 9, isDeduped: kind == .invalid)
            }
            _ = try await store.store.register(
                device("1", "u"), isUnique: true, reports: [report(.registered, "1")])
            await told.first { true }
            try await store.result {
                store.store.change([], reports: [report(.registered, "2")], done: $0)
            }
            try await store.result {
                store.store.learn(
                    .dead(app: "a", token: "1", sinceUnixMs: 0),
                    reports: { result, devices in
                        result == .removed ? devices.map { report(.invalid, $0.token) } : []
                    }, done: $0)
            }
            _ = try await store.store.unregister(
                [device("2", "u")], reports: [report(.unregistered, "2")])
            try probe.equal(try await store.find("a", "1"), [], "a dead token stays")
            if probe.engine.has(.durable) {
                try await probe.engine.crash(store.store)
            } else {
                await store.store.close()
            }
            let next = try await probe.open()
            guard probe.engine.has(.durable) || probe.engine.has(.shared) else { return }
            let all = try await next.outbox()
            let kinds: [DeviceChange.Kind] = [.registered, .registered, .invalid, .unregistered]
            try probe.equal(all.map(\.report.change.kind), kinds)
            try probe.equal(all.map(\.report.change.device.token), ["1", "2", "1", "2"])
            try probe.equal(all.map(\.report.isDeduped), [false, false, true, false])
            try probe.expect(
                all.allSatisfy {
                    let change = $0.report.change
                    return $0.report.instance == "source" && $0.report.eventID == 9
                        && change.device.user == "u" && change.timeUnixMs == 7
                        && change.reason == "reason" && change.subject == "subject"
                }, "a report is not as it was written")
            try probe.equal(try await next.outbox(max: 2).map(\.id), all.prefix(2).map(\.id))
            let place = all.count > 1 ? all[1].id : 0
            try await next.result { next.store.removeFromOutbox(through: place, done: $0) }
            try probe.equal(try await next.outbox().map(\.id), all.suffix(2).map(\.id))
            await next.store.close()
        },
        StoreRule("a change whose reports find no place is refused whole, a dead token never") {
            probe in
            var setup = StoreSetup()
            setup.waitingMax = 2
            let store = try await probe.open("one", setup)
            let change = DeviceChange(kind: .registered, device: device("t", "u"), timeUnixMs: 7)
            let report = DeviceReport(to: "source", change)
            try await store.fill(1)
            _ = try await store.store.register(
                device("t", "u"), isUnique: true, reports: [report])
            let refused: [() async throws -> Void] = [
                {
                    _ = try await store.store.register(
                        device("late", "u"), isUnique: true, reports: [report])
                },
                {
                    _ = try await store.store.unregister([device("t", "u")], reports: [report])
                },
                {
                    let logout = DeviceChange(
                        kind: .unregistered, device: device("t", "u"), timeUnixMs: 8)
                    try await store.result {
                        store.store.change([logout], reports: [report], done: $0)
                    }
                },
            ]
            for call in refused {
                do {
                    try await call()
                } catch {
                    continue
                }
                try probe.expect(false, "a change is taken whose reports find no place")
            }
            try probe.equal(try await store.find("a", "late"), [], "a refused registration")
            try probe.equal(try await store.find("a", "t").count, 1, "after a refused logout")
            try await store.result {
                store.store.learn(
                    .dead(app: "a", token: "t", sinceUnixMs: 0), reports: { _, _ in [report] },
                    done: $0)
            }
            try probe.equal(try await store.outbox().count, 2)
            // A report that moves from the outbox to the queue already has its place.
            let items = try await store.ids(2).map { id in
                Session.item([Session.delivery(id, kind: .report)])
            }
            var entry = StoreEntry(items: items, receivedUnixMs: 1_000, dedupeMs: 0)
            entry.isFromOutbox = true
            guard case .committed = await store.append(entry) else {
                return try probe.expect(false, "reports of the outbox are refused")
            }
            await store.store.close()
        },
        StoreRule("a token that was registered after it died is kept") { probe in
            let store = try await probe.open()
            _ = try await store.store.register(device("t", "u"), isUnique: true)
            let registered = try await store.find("a", "t").first?.device.registeredUnixMs ?? 0
            for (since, found) in [(registered - 1, Invalidation.kept), (registered, .removed)] {
                let (results, tell) = AsyncStream.makeStream(of: Invalidation.self)
                try await store.result {
                    store.store.learn(
                        .dead(app: "", token: "t", sinceUnixMs: since),
                        reports: { result, _ in
                            tell.yield(result)
                            return []
                        }, done: $0)
                }
                try probe.equal(await results.first { _ in true }, found)
            }
            try probe.equal(try await store.find("a", "t"), [])
            await store.store.close()
        },
        StoreRule("a token that has moved keeps its device, and takes no other's place") { probe in
            let store = try await probe.open()
            for token in ["old", "other", "taken"] {
                _ = try await store.store.register(device(token, "u"), isUnique: true)
            }
            let registered = try await store.find("a", "old").first?.device.registeredUnixMs
            for (token, newToken) in [("old", "new"), ("other", "taken"), ("unknown", "x")] {
                try await store.result {
                    store.store.learn(
                        .moved(app: "a", token: token, newToken: newToken),
                        reports: { _, _ in [] }, done: $0)
                }
            }
            let tokens = try await store.store.devices(app: "a", user: "u").map(\.device.token)
            try probe.equal(Set(tokens), ["new", "taken"])
            // It is the same registration: what waits for it is sent.
            try probe.equal(
                try await store.find("a", "new").first?.device.registeredUnixMs, registered)
            await store.store.close()
        },
    ]
}
