internal import SignalboxCore

/// Some of everything that a store keeps, and how a store with it answers.
struct CopySample: Sendable {
    /// The time by the store's clock.
    let nowUnixMs: UInt64
    private let untried: [UInt64]
    private let retried: UInt64
    private let dead: UInt64
    private let later: UInt64
    private let lastID: UInt64
    /// The registrations of the user's devices, by token.
    private let registrations: [String: UInt64]

    private static let windowMs: UInt64 = 3_600_000
    private static let user = UserKey(app: "app", user: "ada")
    private static let other = LaneKey(sender: "fcm", app: "app")

    private static func device(_ token: String, user: String = "ada") -> Device {
        Device(
            app: "app", platform: "ios", provider: "apns", token: token, sourceToken: "<\(token)>",
            user: user, locale: "de-AT", attributes: [Attribute("muted", "all")])
    }

    /// Fills an empty store.
    init(_ store: Session) async throws {
        // Devices: two of one user, and one that two users share.
        let owners = [("old", "ada"), ("new", "ada"), ("shared", "ada"), ("shared", "bob")]
        for (token, user) in owners {
            _ = try await store.store.register(Self.device(token, user: user), isUnique: false)
        }
        nowUnixMs = try await store.find("app", "old").first?.device.registeredUnixMs ?? 0
        _ = try await store.store.setPresence(
            app: "app", user: "ada", token: "old", onlineForMs: Self.windowMs)
        _ = try await store.store.setBadge(7, of: Self.user)
        try await store.set("crm", "kept", [1, 0, 255])
        try await store.set("crm", "passing", [], forMs: Self.windowMs)
        try await store.set("crm", "gone", [2])
        try await store.set("crm", "gone", nil)
        // Deliveries of one event share their content.
        let ids = try await store.ids(9)
        untried = Array(ids[0..<4])
        var items = [
            Session.item(untried[0..<2].map { Self.delivery($0) }, key: "seen"),
            Session.item([Self.delivery(untried[2], priority: .high)]),
            Session.item([Session.delivery(untried[3], Self.other)]),
        ]
        (retried, dead, later) = (ids[4], ids[5], ids[6])
        items += [
            Session.item([Self.delivery(retried)]), Session.item([Self.delivery(dead)]),
            Session.item([Self.delivery(later)]), Session.item([Self.delivery(ids[7])]),
        ]
        try await store.commit(items, dedupeMs: Self.windowMs)
        let token = try await store.lease().token
        _ = try await store.store.setOutcomeReceivers(["crm", "bi"])
        try await store.settle(
            [
                .retry(retried, afterMs: 0, Session.attempt(), isFree: true),
                .retry(later, afterMs: 2 * Self.windowMs, Session.attempt(), isFree: false),
                .dead(dead, reason: "rejected", Session.attempt(1, "rejected")),
                .delivered(ids[7]),
            ], token, outcomes: Session.pack([dead, ids[7]]))
        try await store.store.append(Session.pack([1, 2, 3]))
        try await store.store.outcomesTaken(by: "crm", next: 3)
        lastID = ids[8]
        // A report that waits in the outbox, after one that left it.
        for token in ["reported", "new"] {
            let change = DeviceChange(
                kind: .unproven, device: Self.device(token), timeUnixMs: 5_000, reason: "why",
                subject: "ticket/1")
            _ = try await store.store.register(
                Self.device("new"), isUnique: false,
                reports: [DeviceReport(to: "desk", change, eventID: 9, isDeduped: true)])
            guard token == "reported", let first = try await store.outbox().first else { continue }
            try await store.result { store.store.removeFromOutbox(through: first.id, done: $0) }
        }
        registrations = Dictionary(
            try await store.store.devices(app: "app", user: "ada").map {
                ($0.device.token, $0.device.registration)
            }, uniquingKeysWith: { a, _ in a })
    }

    private static func delivery(_ id: UInt64, priority: Priority = .normal) -> Delivery {
        Session.delivery(id, priority: priority)
    }

    /// Compares what a copy answers.
    func check(_ store: Session) async throws {
        let probe = store.probe
        try probe.equal(store.store.waitingCount, untried.count + 2, "waiting")
        try await checkRegistry(store)
        try probe.equal(try await store.value("crm", "kept"), [1, 0, 255])
        try probe.equal(try await store.value("crm", "passing"), [])
        try probe.equal(try await store.value("crm", "gone"), nil)
        try await checkOutcomes(store)
        try await checkDead(store)
        let lease = try await store.lease()
        let found = lease.deliveries
        // What was leased counts as waiting: high priority, then what was tried, then the rest.
        try probe.equal(found.first?.id, untried[2], "high priority first:")
        try probe.equal(
            Set(found.map(\.id)), Set(untried[0..<3] + [retried]), "due")
        try probe.equal(
            found.map(\.id).filter { untried[0..<2].contains($0) }, Array(untried[0..<2]), "order")
        for delivery in found {
            let wanted = Self.delivery(delivery.id)
            try probe.equal(delivery.stableID, wanted.stableID)
            try probe.equal(delivery.content.notification.title, "Title \(delivery.id)")
            try probe.equal(delivery.content.receivedUnixMs, 1_000, "received")
            try probe.equal(delivery.device, wanted.device)
            let isRetry = delivery.id == retried
            try probe.equal(delivery.attempt, isRetry ? 2 : 1, "attempt")
            try probe.equal(delivery.freeAttempts, isRetry ? 1 : 0, "free attempts")
        }
        let wait = lease.nextDueInMs ?? 0
        try probe.expect(
            !lease.hasMore && wait > 0, "the retry that is due later is due in \(wait) ms")
        try probe.equal(try await store.leased(Self.other), [untried[3]])
        let again = Session.item([Session.delivery(untried[0])], key: "seen")
        let commit = try await store.commit([again], dedupeMs: Self.windowMs)
        try probe.equal(commit.duplicates, [0], "duplicates")
        let new = try await store.ids(1)
        try probe.expect(new[0] > lastID, "id \(new[0]) was given out twice")
        // Attempts before and after the copy are both recorded.
        try await store.settle(
            [.dead(retried, reason: "rejected", Session.attempt(2, "rejected"))], lease.token)
        let letters = try await store.store.deadLetters(DeadFilter(), fromID: retried, limit: 1)
        try probe.equal(letters.first?.attempts.map(\.number), [1, 2], "attempts")
    }

    private func checkRegistry(_ store: Session) async throws {
        let probe = store.probe
        let devices = try await store.store.devices(app: "app", user: "ada")
        try probe.equal(devices.map(\.device.token), ["new", "shared", "old"], "newest first:")
        try probe.equal(devices.map(\.isOnline), [false, false, true], "online")
        for found in devices {
            var wanted = Self.device(found.device.token)
            wanted.registeredUnixMs = found.device.registeredUnixMs
            // What waits for a device is compared with it.
            wanted.registration = registrations[found.device.token] ?? 0
            try probe.equal(found.device, wanted)
            try probe.expect(
                found.device.registeredUnixMs >= nowUnixMs, "registered before it was")
        }
        let owners = try await store.find("app", "shared")
        try probe.equal(owners.map(\.device.user), ["bob", "ada"], "owners")
        var item = Session.item([Session.delivery(lastID)], taken: [lastID])
        item.badges = [BadgeStep(user: Self.user, number: nil, places: [0])]
        let commit = try await store.commit([item])
        try probe.equal(commit.badges[0], [8], "badge")
        try await store.settle([.delivered(lastID)], commit.token)
        let entries = try await store.outbox()
        try probe.equal(entries.map(\.report.instance), ["desk"], "reports")
        let change = entries.first?.report.change
        try probe.equal(change?.device.token, "new")
        try probe.equal(change?.reason, "why")
        let last = entries.last?.id ?? 0
        try probe.expect(last > 1, "the report has id \(last)")
    }

    private func checkOutcomes(_ store: Session) async throws {
        let probe = store.probe
        try probe.equal(store.store.nextOutcome, 6, "next outcome")
        let rows = try await store.store.outcomes(from: 1).rows
        try probe.equal(rows.reduce(0) { $0 + $1.count }, 5, "outcomes")
        try probe.equal(
            try await store.store.setOutcomeReceivers(["crm", "bi"]), ["crm": 3, "bi": 1])
        try await store.store.append(Session.pack([4]))
        try probe.equal(store.store.nextOutcome, 7, "next outcome")
    }

    private func checkDead(_ store: Session) async throws {
        let probe = store.probe
        let letters = try await store.store.deadLetters(DeadFilter(), fromID: 0, limit: 10)
        try probe.equal(letters.map(\.id), [dead], "dead letters")
        guard let letter = letters.first else { return }
        let wanted = Self.delivery(dead)
        try probe.equal(letter.reason, "rejected")
        // An engine for one gateway keeps no names of gateways.
        let attempts = letter.attempts.map { attempt in
            var attempt = attempt
            attempt.owner = ""
            return attempt
        }
        try probe.equal(attempts, [Session.attempt(1, "rejected")])
        try probe.equal(letter.notification.title, "Title \(dead)")
        try probe.equal(letter.device, wanted.device)
        try probe.equal(
            [letter.type, letter.source, letter.subject, letter.route, letter.stableID],
            ["type", "source", "subject", "route", "stable-\(dead)"])
        try probe.equal(letter.receivedUnixMs, 1_000, "received")
    }
}
