import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Which pushes are dropped because their device has left its user.
@Suite struct DepartedDevicesTests {
    private static let now: UInt64 = 1_000_000

    private static func device(
        _ token: String, user: String = "ann", app: String = "a", registered: UInt64 = 5,
        number: UInt64 = 1
    ) -> Device {
        Device(
            app: app, platform: "ios", token: token, user: user, registeredUnixMs: registered,
            registration: number)
    }

    private static func delivery(
        _ id: UInt64, _ device: Device, receivedUnixMs: UInt64 = 0, kind: DeliveryKind = .push
    ) -> Delivery {
        Delivery(
            kind: kind, id: id, eventID: 1, route: "r", sender: "s", stableID: "u",
            deadlineUnixMs: 0,
            content: SharedNotification(PushNotification(), receivedUnixMs: receivedUnixMs),
            device: device)
    }

    @Test func `users are looked up whose push has waited for a device of the registry`() {
        let recent = Self.now - DepartedDevices.recentMs + 1
        let deliveries = [
            Self.delivery(1, Self.device("t")),
            Self.delivery(2, Self.device("t", user: "bob"), receivedUnixMs: recent),
            Self.delivery(3, Self.device("t", user: "carl", registered: 0)),
            Self.delivery(4, Self.device("t", user: "")),
            Self.delivery(5, Self.device("t", user: "dan"), kind: .report),
            Self.delivery(6, Self.device("t", user: "eve", app: "b"), receivedUnixMs: recent - 1),
            // The clock was set back meanwhile.
            Self.delivery(7, Self.device("t", user: "fred"), receivedUnixMs: Self.now + 20_000),
        ]
        let users = DepartedDevices.users(of: deliveries, nowUnixMs: Self.now)
        #expect(
            users == [
                UserKey(app: "a", user: "ann"), UserKey(app: "b", user: "eve"),
                UserKey(app: "a", user: "fred"),
            ])
    }

    @Test func `who has the device, or the same registration under a new token, gets the push`() {
        let users = ["ann", "bob"].map { UserKey(app: "a", user: $0) }
        let found = [
            [
                RegisteredDevice(device: Self.device("mine", number: 7)),
                // All in one millisecond, as devices of an import are.
                RegisteredDevice(device: Self.device("new", number: 9)),
            ],
            [],
        ]
        let deliveries = [
            Self.delivery(1, Self.device("mine")),
            Self.delivery(2, Self.device("old", number: 9)),
            Self.delivery(3, Self.device("lost", number: 8)),
            Self.delivery(4, Self.device("mine", user: "bob")),
            // Nobody was asked about these.
            Self.delivery(5, Self.device("x", user: "carl")),
            Self.delivery(6, Self.device("x", user: "bob", registered: 0)),
        ]
        #expect(DepartedDevices.departed(deliveries, users: users, found) == [3, 4])
    }
}
