import SignalboxCore
import SignalboxDispatch
import Testing

@Suite struct ForgottenUsersTests {
    private static let seed = SeenKey(high: 1, low: 2)

    private static func delivery(
        _ user: String, app: String = "a", receivedUnixMs: UInt64 = 10
    ) -> Delivery {
        Delivery(
            id: 1, eventID: 1, route: "r", sender: "s", stableID: "x", deadlineUnixMs: 0,
            content: SharedNotification(
                PushNotification(), eventType: "t", receivedUnixMs: receivedUnixMs),
            device: Device(app: app, token: "t", user: user))
    }

    @Test func `a user is forgotten in all apps or in one, as of a time`() {
        var users = ForgottenUsers()
        #expect(!users.covers(Self.delivery("ann")))
        users.add(.init(UserKey(app: "", user: "ann"), seed: Self.seed), beforeUnixMs: 11)
        users.add(.init(UserKey(app: "a", user: "bob"), seed: Self.seed), beforeUnixMs: 11)
        #expect(users.covers(Self.delivery("ann")) && users.covers(Self.delivery("ann", app: "b")))
        #expect(users.covers(Self.delivery("bob")))
        #expect(!users.covers(Self.delivery("bob", app: "b")))
        #expect(!users.covers(Self.delivery("ann", receivedUnixMs: 11)))
        #expect(!users.covers(Self.delivery("joann")) && !users.covers(Self.delivery("")))
    }

    @Test func `users of different keys are known at once, and the old ones go`() {
        var users = ForgottenUsers()
        let other = SeenKey(high: 3, low: 4)
        users.add(.init(UserKey(app: "", user: "ann"), seed: Self.seed), beforeUnixMs: 100)
        users.add(.init(UserKey(app: "", user: "bob"), seed: other), beforeUnixMs: 200)
        users.add(.init(UserKey(app: "", user: "bob"), seed: other), beforeUnixMs: 300)
        #expect(users.count == 2 && users.seed == Self.seed)
        #expect(users.covers(Self.delivery("ann")) && users.covers(Self.delivery("bob")))
        users.removeAll(beforeUnixMs: 200)
        #expect(users.count == 1 && users.seed == other)
        #expect(!users.covers(Self.delivery("ann")) && users.covers(Self.delivery("bob")))
    }
}
