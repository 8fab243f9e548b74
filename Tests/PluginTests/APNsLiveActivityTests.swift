import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// Live Activities, broadcast channels, and push types that show nothing by themselves.
@Suite struct APNsLiveActivityTests {
    private static let state = #""content-state":{"score":[2,1],"clock":0.5}"#

    private static func activity(
        _ aps: String, _ change: (inout PushNotification) -> Void = { _ in }
    ) -> SharedNotification {
        var note = PushNotification()
        note.pushType = "liveactivity"
        note.overrides = [PayloadOverride(family: "apns", json: #"{"aps":{\#(aps)}}"#)]
        change(&note)
        return SharedNotification(note, receivedUnixMs: 1_700_000_000_999)
    }

    private static func request(
        _ rig: SendRig, token: String = "0a1b", deadlineUnixMs: UInt64 = 0,
        _ note: SharedNotification
    ) async throws -> RenderedRequest {
        let delivery = SendRig.delivery(1, token: token, deadlineUnixMs: deadlineUnixMs, note)
        let (requests, settled) = try await rig.prepare([delivery])
        #expect(settled.isEmpty, "\(settled.map { ($0.reason, $0.detail) })")
        return try #require(requests.first)
    }

    private static func refusal(
        _ rig: SendRig, token: String = "0a1b", _ note: SharedNotification
    ) async throws -> Outcome {
        let (requests, settled) = try await rig.prepare([SendRig.delivery(1, token: token, note)])
        #expect(requests.isEmpty)
        return try #require(settled.first)
    }

    @Test func `an update has the time of its event, whatever attempt it is`() async throws {
        let rig = try await APNsTests().rig()
        let request = try await Self.request(
            rig, Self.activity(#""event":"update",\#(Self.state),"stale-date":1700000600"#))
        #expect(request.headers["apns-topic"] == "com.example.app.push-type.liveactivity")
        #expect(
            request.text
                == #"{"aps":{"timestamp":1700000000,"event":"update",\#(Self.state),"stale-date":1700000600}}"#
        )
        let own = try await Self.request(
            rig, Self.activity(#""event":"end","timestamp":5,"dismissal-date":0"#))
        #expect(own.body["aps"]?["timestamp"]?.integer == 5)
        await rig.end()
    }

    @Test func `a start alerts with texts of its own, some of which the app has`() async throws {
        let rig = try await APNsTests().rig()
        let note = Self.activity(
            #""event":"start",\#(Self.state),"attributes-type":"Match","attributes":{"id":7},"input-push-token":1"#
        ) {
            $0.title = "fallback"
            $0.body = "Kick-off"
            $0.sound = "whistle.caf"
            $0.badge = 3
            $0.overrides.append(
                PayloadOverride(
                    family: "localized",
                    json: #"{"title":{"loc_key":"MATCH","loc_args":["A","B"]}}"#))
        }
        let aps = try #require(try await Self.request(rig, note).body["aps"])
        #expect(
            aps["alert"]
                == (try JSONValue.parse(
                    #"{"title":{"loc-key":"MATCH","loc-args":["A","B"]},"body":"Kick-off","sound":"whistle.caf"}"#
                )))
        // They are no members of a Live Activity.
        #expect(aps["badge"] == nil && aps["sound"] == nil)
        #expect(aps["attributes"]?["id"]?.integer == 7)
        #expect(aps["input-push-token"]?.integer == 1)
        await rig.end()
    }

    @Test(arguments: [
        ("", "aps.event"), (#""event":"begin""#, "aps.event"),
        (#""event":"update""#, "content-state"),
        (#""event":"update","content-state":"text""#, "content-state"),
        (#""event":"end","timestamp":null"#, "timestamp"),
        (#""event":"end","timestamp":1700000000123"#, "whole seconds"),
        (#""event":"end","timestamp":"1700000000""#, "whole seconds"),
        (#""event":"end","dismissal-date":"soon""#, "dismissal-date"),
        (#""event":"update",\#(state),"stale-date":1.5"#, "stale-date"),
        (#""event":"update",\#(state),"relevance-score":"high""#, "relevance-score"),
        (#""event":"start",\#(state)"#, "attributes-type"),
        (#""event":"start",\#(state),"attributes-type":"M""#, "attributes, an object"),
        (#""event":"start",\#(state),"attributes-type":"M","attributes":{}"#, "an alert"),
        (
            #""event":"start",\#(state),"attributes-type":"M","attributes":{},"alert":{"title":"T"},"input-push-token":1,"input-push-channel":"YQ==""#,
            "not by both"
        ),
        (
            #""event":"start",\#(state),"attributes-type":"M","attributes":{},"alert":{"title":"T"},"input-push-channel":1"#,
            "channel's id"
        ),
    ])
    func `what a device would ignore is refused with the reason`(
        aps: String, words: String
    ) async throws {
        let rig = try await APNsTests().rig()
        let outcome = try await Self.refusal(rig, Self.activity(aps))
        #expect(outcome.kind == .rejected && outcome.reason == "malformed_live_activity")
        #expect(outcome.detail.contains(words), "\(outcome.detail)")
        await rig.end()
    }

    @Test func `a long alert is shortened, and the state stays whole`() async throws {
        let rig = try await APNsTests().rig()
        let state = #""content-state":{"text":"\#(String(repeating: "é", count: 600))"}"#
        let request = try await Self.request(
            rig,
            Self.activity(#""event":"update",\#(state)"#) {
                $0.title = "T"
                $0.body = String(repeating: "안녕하세요 ", count: 2_000)
            })
        let aps = try #require(request.body["aps"])
        #expect(aps["content-state"]?["text"]?.string?.count == 600)
        #expect(aps["alert"]?["body"]?.string?.hasSuffix("…") == true)
        #expect((4_080...4_096).contains(request.text.utf8.count))
        await rig.end()
    }

    @Test(arguments: [("", "0"), (#","channel_storage":"most_recent""#, "1700003600")])
    func `a channel gets a broadcast`(more: String, expiration: String) async throws {
        let rig = try await APNsTests().rig(more)
        let request = try await Self.request(
            rig, token: "channel:dHN0LXNyY2gtY2hubA==", deadlineUnixMs: 1_700_003_600_000,
            Self.activity(#""event":"update",\#(Self.state)"#) { $0.collapse = "match" })
        #expect(request.method == "POST" && request.path == "/4/broadcasts/apps/com.example.app")
        #expect(request.headers["apns-channel-id"] == "dHN0LXNyY2gtY2hubA==")
        #expect(request.headers["apns-push-type"] == "liveactivity")
        #expect(request.headers["apns-request-id"] == "123e4567-e89b-42d3-a456-426614174001")
        #expect(request.headers["apns-priority"] == "10")
        #expect(request.headers["apns-expiration"] == expiration)
        for name in ["apns-topic", "apns-id", "apns-collapse-id"] {
            #expect(request.headers[name] == nil)
        }
        #expect(request.body["aps"]?["event"]?.string == "update")
        let answer = try rig.outcome(200, "", headers: [Attribute("apns-request-id", "r-1")])
        #expect(answer.kind == .delivered && answer.providerID == "r-1")
        await rig.end()
    }

    @Test func `a broadcast may be longer than a push, and one content may go both ways`()
        async throws
    {
        let rig = try await APNsTests().rig()
        let text = String(repeating: "x", count: 4_500)
        let note = Self.activity(#""event":"update","content-state":{"text":"\#(text)"}"#)
        let (requests, settled) = try await rig.prepare([
            SendRig.delivery(1, token: "0a1b", note),
            SendRig.delivery(2, token: "channel:YQ", note),
        ])
        #expect(requests.map(\.items) == [[2]])
        #expect(settled.map(\.reason) == ["PayloadTooLarge"])
        await rig.end()
    }

    @Test(arguments: [
        ("channel:", "malformed_token"), ("channel:a b", "malformed_token"),
        ("channel:\(String(repeating: "a", count: 513))", "malformed_token"),
        ("channel:YQ==", "malformed_live_activity"),
    ])
    func `a channel must be one, and cannot start an activity`(
        token: String, reason: String
    ) async throws {
        let rig = try await APNsTests().rig()
        let start = Self.activity(
            #""event":"start",\#(Self.state),"attributes-type":"M","attributes":{},"alert":{"title":"T"}"#
        )
        #expect(try await Self.refusal(rig, token: token, start).reason == reason)
        let alert = SendRig.note { $0.title = "T" }
        let wrong = try await Self.refusal(rig, token: "channel:YQ==", alert)
        #expect(wrong.reason == "channel_needs_liveactivity")
        await rig.end()
    }

    @Test(arguments: [
        ("FeatureNotEnabled", Outcome.Kind.config), ("MissingChannelId", .rejected),
        ("BadChannelId", .rejected), ("ChannelNotRegistered", .rejected),
        ("BadRequestParams", .rejected), ("BadRequestPayload", .rejected),
        ("MissingPushType", .rejected), ("CannotCreateChannelConfig", .rejected),
    ])
    func `reasons of broadcasts have their class`(
        reason: String, kind: Outcome.Kind
    ) async throws {
        let rig = try await APNsTests().rig()
        let outcome = try rig.outcome(400, #"{"reason":"\#(reason)"}"#)
        #expect(outcome.kind == kind && outcome.scope == .item && outcome.reason == reason)
        await rig.end()
    }

    @Test func `a channel that is gone is dead only once the app is proven`() async throws {
        let rig = try await APNsTests().rig()
        let gone = #"{"reason":"ChannelNotRegistered"}"#
        #expect(try rig.outcome(400, gone).detail.contains("the channel is kept"))
        _ = try rig.outcome(200, "")
        #expect(try rig.outcome(400, gone).kind == .unregistered)
        let other = try rig.outcome(403, #"{"reason":"TopicMismatch"}"#)
        // The app is proven, so it is this push alone.
        #expect(other.kind == .config && other.scope == .item)
        await rig.end()
    }

    @Test(arguments: ["voip", "pushtotalk", "liveactivity", "complication"])
    func `nothing that must go unnoticed is sent with a type that shows`(type: String) async throws
    {
        let rig = try await APNsTests().rig()
        for isDryRun in [true, false] {
            let note = SendRig.note {
                $0.pushType = type
                $0.isDryRun = isDryRun
                $0.isWithdrawn = !isDryRun
                $0.collapse = "c"
            }
            #expect(try await Self.refusal(rig, note).reason == "push_type_shows")
        }
        let dry = try await rig.render {
            $0.pushType = "alert"
            $0.isDryRun = true
            $0.title = "T"
        }
        #expect(dry.headers["apns-push-type"] == "background")
        #expect(dry.text == #"{"aps":{"content-available":1}}"#)
        await rig.end()
    }

    @Test(arguments: [("mdm", "mdm"), ("fileprovider", "container-identifier")])
    func `a push that the system reads has its member and no aps`(
        type: String, member: String
    ) async throws {
        let rig = try await APNsTests().rig()
        let request = try await rig.render {
            $0.pushType = type
            $0.title = "T"
            $0.data = #"{"\#(member)":"x"}"#
            $0.overrides = [PayloadOverride(family: "apns", json: #"{"domain":"d"}"#)]
        }
        #expect(request.text == #"{"\#(member)":"x","domain":"d"}"#)
        for data in ["", "{}", #"{"\#(member)":""}"#, #"{"\#(member)":5}"#] {
            let note = SendRig.note {
                $0.pushType = type
                $0.data = data
            }
            let outcome = try await Self.refusal(rig, note)
            #expect(outcome.reason == "missing_member" && outcome.detail.contains(member))
        }
        await rig.end()
    }
}
