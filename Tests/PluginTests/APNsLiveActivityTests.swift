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
}
