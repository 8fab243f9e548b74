import SignalboxCore
import Testing

@testable import SignalboxDispatch

@Suite struct UserDevicesTests {
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

    @Test func `only recipients without a token name a user`() {
        let named = UserDevices.named(in: [event([user(), Recipient(device: device("t"))])], [])
        #expect(named == [ann])
        #expect(UserDevices.named(in: [event([Recipient(device: device("t"))])], []).isEmpty)
    }

    @Test func `a logout names its user, a registration does not`() {
        #expect(UserDevices.named(in: [], [change(.unregistered, token: "t")]) == [ann])
        #expect(UserDevices.named(in: [], [change(.registered, token: "t")]).isEmpty)
    }

    @Test func `the devices of a user take the user's place, in order`() {
        let users = UserDevices([
            ann: [RegisteredDevice(device: device("1")), RegisteredDevice(device: device("2"))]
        ])
        let out = users.resolved(event([Recipient(device: device("0")), user()]))
        #expect(out.recipients.map(\.device.token) == ["0", "1", "2"])
    }

    @Test func `a user without devices stays, so that a route can name who was left out`() {
        let out = UserDevices([:]).resolved(event([user()]))
        #expect(out.recipients.map(\.device.user) == ["ann"])
    }

    @Test func `each device knows its presence and the user's`() {
        let users = UserDevices([
            ann: [
                RegisteredDevice(device: device("1"), isOnline: true),
                RegisteredDevice(device: device("2")),
            ]
        ])
        let out = users.resolved(event([user()])).recipients.map { recipient in
            recipient.attributes.map { "\($0.key)=\($0.value)" }
        }
        #expect(
            out == [["online=true", "user_online=true"], ["online=false", "user_online=true"]])
    }

    @Test func `a recipient with a platform is the user on that platform alone`() {
        var tablet = device("2")
        tablet.platform = "android"
        let users = UserDevices([
            ann: [
                RegisteredDevice(device: device("1"), isOnline: true),
                RegisteredDevice(device: tablet),
            ]
        ])
        func resolved(_ platform: String) -> [Recipient] {
            var one = user()
            one.device.platform = platform
            return users.resolved(event([one])).recipients
        }
        #expect(resolved("").map(\.device.token) == ["1", "2"])
        #expect(resolved("android").map(\.device.token) == ["2"])
        #expect(resolved("android")[0].attributes.contains(Attribute("user_online", "true")))
        // It stays, so that a route can name who was left out.
        #expect(resolved("web").map(\.device.user) == ["ann"])
    }

    @Test func `what the source says of presence goes before the registry`() {
        let users = UserDevices([ann: [RegisteredDevice(device: device("1"), isOnline: true)]])
        let out = users.resolved(event([user([Attribute("online", "false")])]))
        #expect(
            out.recipients[0].attributes
                == [Attribute("online", "false"), Attribute("user_online", "true")])
    }

    @Test func `a logout is one change per device, or of the named device`() {
        let users = UserDevices([
            ann: [RegisteredDevice(device: device("1")), RegisteredDevice(device: device("2"))]
        ])
        #expect(users.resolved(change(.unregistered)).map(\.device.token) == ["1", "2"])
        #expect(users.resolved(change(.unregistered, token: "2")).map(\.device.token) == ["2"])
        // Another user's token is left alone.
        #expect(users.resolved(change(.unregistered, token: "9")).isEmpty)
        #expect(users.resolved(change(.registered, token: "9")).map(\.device.token) == ["9"])
    }
}
