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
            let late = try await store.store.unregister(app: "a", token: "t", user: "u")
            try probe.equal(late, 0, "a late logout of the former user")
            try probe.equal(
                try await store.store.unregister(app: "a", token: "t", user: "w"), 1)
            try probe.equal(try await store.find("", "t"), [])
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
        StoreRule("devices are found by user, in one app or in all") { probe in
            let store = try await probe.open()
            for (token, user, app) in [("1", "u", "a"), ("2", "u", "b"), ("3", "v", "a")] {
                _ = try await store.store.register(device(token, user, app: app), isUnique: true)
            }
            let keys = [
                UserKey(app: "a", user: "u"), UserKey(app: "", user: "u"),
                UserKey(app: "a", user: "nobody"),
            ]
            let found: [UserKey: [RegisteredDevice]] = try await store.result {
                store.store.devices(of: keys, done: $0)
            }
            try probe.equal(found[keys[0]]?.map(\.device.token), ["1"])
            try probe.equal(Set(found[keys[1]]?.map(\.device.token) ?? []), ["1", "2"])
            try probe.equal(found[keys[2]] ?? [], [])
            await store.store.close()
        },
        StoreRule("presence ends by the store's clock, attributes stay") { probe in
            let store = try await probe.open()
            _ = try await store.store.register(device("t", "u"), isUnique: true)
            let count = try await store.store.setPresence(
                app: "a", user: "u", token: nil, onlineForMs: 4_000)
            try probe.equal(count, 1)
            let muted = [Attribute("muted", "agent")]
            _ = try await store.store.setAttributes(muted, app: "a", token: "t", user: "u")
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
            _ = try await store.store.unregister(app: "a", token: "t", user: "u")
            try probe.equal(try await count("5"), [nil])
            try probe.equal(try await store.store.setBadge(7, of: user), false)
            await store.store.close()
        },
        StoreRule("changes are done with the events that they came with") { probe in
            var setup = StoreSetup()
            setup.waitingMax = 1
            let store = try await probe.open("one", setup)
            let ids = try await store.ids(2)
            let item = Session.item(ids.map { Session.delivery($0) })
            let change = DeviceChange(kind: .registered, device: device("t", "u"))
            try probe.equal(await store.append([item], changes: [change]), .full)
            try probe.equal(try await store.find("a", "t"), [])
            try await store.commit([], changes: [change])
            try probe.equal(try await store.find("a", "t").map(\.device.user), ["u"])
            var gone = change
            gone.kind = .unregistered
            try await store.commit([], changes: [gone])
            try probe.equal(try await store.find("a", "t"), [])
            await store.store.close()
        },
    ]
}
