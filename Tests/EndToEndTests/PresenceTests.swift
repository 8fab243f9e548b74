import Foundation
import SignalboxCore
import SignalboxJSON
import Testing

@Suite struct PresenceTests {
    private static func isOnline(_ flow: RegistryRig) async throws -> Bool? {
        let listed = try await flow.call("GET", "/v1/devices?user=u")
        return listed.json["devices"]?[0]?["online"].map { $0 == .bool(true) }
    }

    private static func say(_ flow: RegistryRig, _ members: String) async throws {
        let said = try await flow.call(
            "PUT", "/v1/devices/presence", #"{"user":"u",\#(members)}"#)
        #expect(said.status == 200 && said.json["updated"]?.integer == 1)
    }

    @Test func `an app that crashed while it was online counts as offline after two minutes`()
        async throws
    {
        let clock = StillClock()
        let flow = try await RegistryRig(
            set: #"{ title: "{{ recipient.online }} {{ recipient.user_online }}" }"#,
            clock: { clock.now })
        try await flow.register("u", "aa")
        try await Self.say(flow, #""online":true"#)
        try await flow.notify(["u"])
        clock.advance(ms: 100_000)
        #expect(try await Self.isOnline(flow) == true)
        // A presence that is renewed in time continues.
        try await Self.say(flow, #""online":true"#)
        clock.advance(ms: 100_000)
        #expect(try await Self.isOnline(flow) == true)
        clock.advance(ms: 20_000)
        #expect(try await Self.isOnline(flow) == false)
        try await flow.notify(["u"])
        let titles = await flow.taken(2).map { $0.aps["alert"]?["title"]?.string }
        #expect(titles == ["true true", "false false"])
        // An app says for how long it is online, from ten seconds to a day.
        try await Self.say(flow, #""online":true,"ttl":86400"#)
        clock.advance(ms: 86_000_000)
        #expect(try await Self.isOnline(flow) == true)
        try await Self.say(flow, #""online":true,"ttl":10"#)
        clock.advance(ms: 10_000)
        #expect(try await Self.isOnline(flow) == false)
        try await Self.say(flow, #""online":true"#)
        try await Self.say(flow, #""online":false"#)
        #expect(try await Self.isOnline(flow) == false)
        for ttl in ["9", "86401", #""2m""#, "1.5", "-1", "null"] {
            let refused = try await flow.call(
                "PUT", "/v1/devices/presence", #"{"user":"u","online":true,"ttl":\#(ttl)}"#)
            #expect(refused.status == 400, "\(ttl)")
            #expect(
                refused.json["detail"]?.string == #""ttl" must be seconds, 10 to 86400"#, "\(ttl)")
        }
        await flow.rig.end()
    }
}
