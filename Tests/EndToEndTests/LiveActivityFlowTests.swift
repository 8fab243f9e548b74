import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// `Examples/live-activities`: pushes to activities, and broadcasts to channels that a backend makes and deletes.
@Suite(.timeLimit(.minutes(5))) struct LiveActivityFlowTests {
    private static let backend = ("authorization", "Bearer the-backend's-own-token")
    private static let channels = "/apns/channels/com.example.app"

    private static func rig() async throws -> ExampleRig {
        try await RustRig.plugins()
        return try await ExampleRig(
            "live-activities",
            variables: [
                "CLOUDEVENTS_TOKEN": "token-of-the-league",
                "CHANNELS_TOKEN": "the-backend's-own-token",
            ])
    }

    private static func send(
        _ rig: ExampleRig, _ id: String, _ type: String, _ data: String
    ) async throws {
        let body =
            #"{"specversion":"1.0","id":"\#(id)","source":"/league","type":"com.example.match.\#(type)","fan":"ada","data":\#(data)}"#
        try await rig.expect(
            200, "POST", "/in/cloudevents", body,
            headers: [
                ("authorization", "Bearer token-of-the-league"),
                ("content-type", "application/cloudevents+json"),
            ])
    }

    @Test func `an activity is started, updated and ended, each by its own token`() async throws {
        let rig = try await Self.rig()
        let apns = rig.simulators.apns
        try await rig.register("ada", "aa01", "ios_start")
        try await rig.register("ada", "aa02", "ios_activity")
        let match = #""match":{"home":"Ada","away":"Bob"},"state":{"home":0,"away":0,"clock":0.5}"#
        try await Self.send(rig, "1", "started", "{\(match)}")
        let start = try await rig.push(apns, to: "aa01") { $0.status == 200 }
        #expect(start.header("apns-topic") == "com.example.app.push-type.liveactivity")
        let aps = try #require(start.body["aps"])
        #expect(aps["event"]?.string == "start" && aps["input-push-token"]?.integer == 1)
        #expect(aps["attributes"]?["away"]?.string == "Bob")
        #expect(aps["alert"]?["title"]?.string == "Ada v Bob")
        #expect((aps["timestamp"]?.integer ?? 0) > 1_700_000_000)
        try await Self.send(rig, "2", "scored", #"{"state":{"home":1,"away":0,"clock":7.25}}"#)
        let update = try await rig.push(apns, to: "aa02") { $0.status == 200 }
        #expect(
            update.body["aps"]?["content-state"]
                == (try JSONValue.parse(#"{"home":1,"away":0,"clock":7.25}"#)))
        // Without a date the member is absent.
        try await Self.send(rig, "3", "ended", #"{"state":{"home":1,"away":0,"clock":90}}"#)
        let end = try await rig.push(apns, to: "aa02") {
            $0.body["aps"]?["event"] == .string("end")
        }
        #expect(end.body["aps"]?["dismissal-date"] == nil)
        #expect(apns.received.count == 3)
        await rig.end()
    }

    @Test func `a backend makes a channel, broadcasts to it and deletes it`() async throws {
        let rig = try await Self.rig()
        let apns = rig.simulators.apns
        let json = try await rig.expect(
            201, "POST", Self.channels, #"{"storage":"most_recent"}"#, headers: [Self.backend])
        let channel = try #require(json["channel"]?.string)
        let all = try await rig.expect(200, "GET", Self.channels, headers: [Self.backend])
        #expect(all["channels"] == .array([.string(channel)]))
        let escaped = channel.replacing("/", with: "%2F").replacing("+", with: "%2B")
        let one = try await rig.expect(
            200, "GET", "\(Self.channels)/\(escaped)", headers: [Self.backend])
        #expect(one["message-storage-policy"]?.integer == 1)

        let data = #"{"state":{"home":1,"away":0},"channels":["channel:\#(channel)"]}"#
        try await Self.send(rig, "1", "scored", data)
        let push = try await rig.push(apns, to: "channel:\(channel)")
        #expect(push.status == 200 && push.path == "/4/broadcasts/apps/com.example.app")
        #expect(push.header("apns-expiration") == "0" && push.header("apns-topic") == nil)

        try await rig.expect(204, "DELETE", "\(Self.channels)/\(escaped)", headers: [Self.backend])
        let why = try await rig.expect(
            400, "DELETE", "\(Self.channels)/\(escaped)", headers: [Self.backend])
        #expect(why["reason"]?.string == "ChannelNotRegistered")
        // What cannot be passed on is answered with the reason.
        let passedOn = apns.received.count
        for (method, body, bearer, status, words) in [
            ("POST", "", "Bearer wrong", 401, "channels.bearer"),
            ("POST", "", "", 401, "channels.bearer"),
            ("POST", #"{"storage":"all"}"#, Self.backend.1, 400, "none or most_recent"),
            ("POST", "{", Self.backend.1, 400, "not JSON"), ("PUT", "", Self.backend.1, 405, ""),
        ] as [(String, String, String, UInt32, String)] {
            let (given, json, _) = try await rig.call(
                method, Self.channels, body, headers: [("authorization", bearer)])
            #expect(given == status, "\(json)")
            #expect(words.isEmpty || json["detail"]?.string?.contains(words) == true, "\(json)")
        }
        let (other, _, _) = try await rig.call(
            "GET", "/apns/channels/com.other", headers: [Self.backend])
        #expect(other == 404)
        #expect(apns.received.count == passedOn)
        await rig.end()
    }
}
