import SignalboxCore
import Testing

@testable import SignalboxDispatch

@Suite struct NamedUsersTests {
    private let ann = UserKey(app: "a", user: "ann")

    private func device(_ token: String) -> Device {
        Device(app: "a", platform: "ios", token: token, user: "ann")
    }

    private func user(_ attributes: [Attribute] = []) -> Recipient {
        Recipient(device: Device(app: "a", user: "ann"), attributes: attributes)
    }

    private func event(_ recipients: [Recipient]) -> Event {
        Event(id: 1, source: "s", type: "t", recipients: recipients)
    }

    private func change(_ kind: DeviceChange.Kind, token: String = "") -> DeviceChange {
        DeviceChange(kind: kind, device: Device(app: "a", token: token, user: "ann"))
    }

    private func registered(_ device: Device) -> RegisteredDevice {
        RegisteredDevice(device: device)
    }

    private func named(_ recipients: [Recipient]) -> NamedUsers {
        NamedUsers(in: [event(recipients)], [])
    }

    /// The recipients of an event, one of which is Ann, who has these devices.
    private func resolved(
        _ recipients: [Recipient], _ devices: [Device], online: Set<String> = []
    ) -> [Recipient] {
        var (events, changes) = ([event(recipients)], [DeviceChange]())
        let found = devices.map {
            RegisteredDevice(device: $0, isOnline: online.contains($0.token))
        }
        named(recipients).resolve(&events, &changes, [found])
        return events[0].recipients
    }

    @Test func `only recipients without a token name a user`() {
        #expect(named([user(), Recipient(device: device("t"))]).keys == [ann])
        #expect(named([Recipient(device: device("t"))]).keys.isEmpty)
    }

    @Test func `a logout names its user, a registration does not`() {
        #expect(NamedUsers(in: [], [change(.unregistered, token: "t")]).keys == [ann])
        #expect(NamedUsers(in: [], [change(.registered, token: "t")]).keys.isEmpty)
    }

    @Test func `the devices of a user take the user's place, in order`() {
        let out = resolved([Recipient(device: device("0")), user()], [device("1"), device("2")])
        #expect(out.map(\.device.token) == ["0", "1", "2"])
    }

    @Test func `a user without devices stays, so that a route can name who was left out`() {
        let out = resolved([user()], [])
        #expect(out.map(\.device.user) == ["ann"])
    }

    @Test func `each device knows its presence and the user's`() {
        let out = resolved([user()], [device("1"), device("2")], online: ["1"]).map { recipient in
            recipient.attributes.map { "\($0.key)=\($0.value)" }
        }
        #expect(
            out == [["online=true", "user_online=true"], ["online=false", "user_online=true"]])
    }

    @Test func `a recipient with a platform is the user on that platform alone`() {
        var tablet = device("2")
        tablet.platform = "android"
        func resolved(_ platform: String) -> [Recipient] {
            var one = user()
            one.device.platform = platform
            return self.resolved([one], [device("1"), tablet], online: ["1"])
        }
        #expect(resolved("").map(\.device.token) == ["1", "2"])
        #expect(resolved("android").map(\.device.token) == ["2"])
        #expect(resolved("android")[0].attributes.contains(Attribute("user_online", "true")))
        // It stays, so that a route can name who was left out.
        #expect(resolved("web").map(\.device.user) == ["ann"])
    }

    @Test func `what the source says of presence goes before the registry`() {
        let out = resolved([user([Attribute("online", "false")])], [device("1")], online: ["1"])
        #expect(
            out[0].attributes
                == [Attribute("online", "false"), Attribute("user_online", "true")])
    }

    @Test func `a logout is one change per device, or of the named device`() {
        func resolved(_ change: DeviceChange) -> [String] {
            var (events, changes) = ([Event](), [change])
            NamedUsers(in: [], changes)
                .resolve(&events, &changes, [[device("1"), device("2")].map(registered)])
            return changes.map(\.device.token)
        }
        #expect(resolved(change(.unregistered)) == ["1", "2"])
        #expect(resolved(change(.unregistered, token: "2")) == ["2"])
        // Another user's token is left alone.
        #expect(resolved(change(.unregistered, token: "9")).isEmpty)
        #expect(resolved(change(.registered, token: "9")) == ["9"])
    }

    @Test(arguments: [["K", "\u{212A}"], ["\u{212A}", "K"]])
    func `users whose names Unicode calls equivalent are two users`(names: [String]) {
        let users = named(names.map { Recipient(device: Device(app: "a", user: $0)) })
        #expect(users.keys.map { Array($0.user.utf8) } == names.map { Array($0.utf8) })
        #expect(users.keys.count == 2 && Set(users.keys).count == 2)
    }

    @Test(arguments: [3, 40])
    func `a user named repeatedly is looked up once and reached each time`(count: Int) {
        let recipients = (0..<count).map { Recipient(device: Device(app: "a", user: "u\($0)")) }
        var events = [event(recipients), event(recipients.reversed())]
        var changes = (0..<count).map {
            DeviceChange(kind: .unregistered, device: Device(app: "a", user: "u\($0)"))
        }
        let users = NamedUsers(in: events, changes)
        #expect(users.keys == recipients.map { UserKey(app: "a", user: $0.device.user) })
        // The first user has no device.
        let devices = (0..<count).map { user in
            user == 0 ? [] : ["x", "y"].map { registered(device("\($0)\(user)")) }
        }
        #expect(users.recipientCount(of: events, devices) == 2 * (2 * count - 1))
        users.resolve(&events, &changes, devices)
        let tokens = devices.map { $0.isEmpty ? [""] : $0.map(\.device.token) }
        #expect(events[0].recipients.map(\.device.token) == tokens.flatMap(\.self))
        #expect(events[1].recipients.map(\.device.token) == tokens.reversed().flatMap(\.self))
        #expect(changes.map(\.device.token) == tokens.dropFirst().flatMap(\.self))
    }
}
