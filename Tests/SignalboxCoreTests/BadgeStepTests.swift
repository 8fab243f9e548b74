import SignalboxCore
import Testing

@Suite struct BadgeStepTests {
    private static func delivery(
        _ user: String, badge: Int32? = nil, _ change: (inout PushNotification) -> Void = { _ in }
    ) -> Delivery {
        var note = PushNotification()
        change(&note)
        return Delivery(
            id: 1, eventID: 1, route: "r", sender: "s", stableID: "i", badge: badge,
            deadlineUnixMs: 0, content: SharedNotification(note, receivedUnixMs: 0),
            device: Device(app: "a", platform: "ios", token: "t", user: user))
    }

    @Test func `an event counts once per user, for all of the user's devices on all routes`() {
        var steps = BadgeSteps(recipients: [])
        steps.count([Self.delivery("u"), Self.delivery("v"), Self.delivery("u")], from: 0)
        steps.count([Self.delivery("u")], from: 7)
        #expect(steps.steps.map(\.user.user) == ["u", "v"])
        #expect(steps.steps.map(\.places) == [[0, 2, 7], [1]])
        #expect(steps.steps.allSatisfy { $0.number == nil && $0.user.app == "a" })
    }

    @Test func `what shows nothing, has its own number or names no user is not counted`() {
        var steps = BadgeSteps(recipients: [])
        steps.count(
            [
                Self.delivery("u") { $0.isSilent = true },
                Self.delivery("u") { $0.isDryRun = true }, Self.delivery("u", badge: 4),
                Self.delivery(""),
            ], from: 0)
        #expect(steps.steps.isEmpty)
    }

    @Test func `a source's number takes the place of the count`() {
        func recipient(_ user: String, _ said: String) -> Recipient {
            Recipient(
                device: Device(app: "a", token: "t", user: user),
                attributes: [Attribute("badge", said)])
        }
        var steps = BadgeSteps(recipients: [
            recipient("u", "0"), recipient("", "3"), recipient("v", "many"), recipient("w", "-1"),
            recipient("x", "99999999999"),
        ])
        steps.count([Self.delivery("u")], from: 3)
        #expect(steps.steps.map(\.user.user) == ["u"])
        #expect(steps.steps.first?.number == 0 && steps.steps.first?.places == [3])
    }

    @Test func `deliveries get the numbers of their users`() {
        var items = StoreEntry.Item(
            event: Event(type: "x"),
            deliveries: (UInt64(1)...3).map { id in
                var delivery = Self.delivery("u")
                delivery.id = id
                return delivery
            })
        items.badges = [
            BadgeStep(user: UserKey(app: "a", user: "u"), places: [0, 2]),
            BadgeStep(user: UserKey(app: "a", user: "v"), places: [1]),
        ]
        let numbers = items.badgeNumbers([5, nil])
        #expect(items.deliveries.map { $0.with(badges: numbers).badge } == [5, nil, 5])
    }
}
