import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// Members that a builder declares optional, on the way to a provider with a limit.
@Suite struct LeftOutTests {
    /// The payloads of a built notification for APNs and FCM, and what was shortened or left out for each.
    private static func sent(
        _ note: PushNotification
    ) async throws -> [(payload: RenderedRequest, fields: [String])] {
        var made: [(RenderedRequest, [String])] = []
        let senders = [
            ("ios", try await APNsTests().rig()), ("android", try await FCMTests().rig()),
        ]
        for (platform, sender) in senders {
            let content = SharedNotification(note, receivedUnixMs: 0)
            let (requests, settled) = try await sender.prepare([
                SendRig.delivery(1, platform: platform, content)
            ])
            #expect(settled.map(\.reason) == [])
            made.append((try #require(requests.first), sender.services.shortenedFields))
            await sender.end()
        }
        return made
    }

    private static func photos() throws -> JSONValue {
        try JSONValue.parse(try PluginRig.fixture("Sendbird/twelve-photos.json"))
    }

    private static func event(_ payload: JSONValue, _ sender: JSONValue = .object([])) -> Event {
        Event(
            type: "message.sent",
            data: JSONValue.object([
                .init("type", payload["type"] ?? .string("MESG")), .init("payload", payload),
                .init("sender", sender), .init("channel", .object([])),
            ]).text)
    }

    /// Twelve photos fit without most of their thumbnails, and forty-eight do not.
    @Test(arguments: [(1, 12...12, ["thumbnails"]), (4, 12...47, ["files", "thumbnails"])])
    func `a message with many photos arrives with as many as fit`(
        times: Int, counts: ClosedRange<Int>, leftOut: [String]
    ) async throws {
        let message = try Self.photos()
        guard case .array(let photos) = message["files"] else { return #expect(Bool(false)) }
        let files = JSONValue.array((0..<times).flatMap { _ in photos })
        let rig = try await SendbirdTests.rig()
        let event = Self.event(message.merging(["files": files]))
        let built = try rig.build(event, [SendbirdTests.device()])
        let note = try #require(built.contents.first).notification
        #expect(await rig.end() == [])
        for (index, (request, fields)) in try await Self.sent(note).enumerated() {
            #expect(Set(leftOut).isSubset(of: fields))
            let isApple = index == 0
            let data = request.body["message"]?["data"]?["sendbird"]?.string
            let object =
                isApple
                ? request.body["sendbird"] : try JSONValue.parse(try #require(data))
            guard case .array(let files) = object?["files"] else {
                return #expect(Bool(false), "\(request.text)")
            }
            #expect(counts.contains(files.count), "\(files.count)")
            #expect(files.first?["file_name"]?.string == "IMG_00.jpg")
            #expect(files.last?["thumbnails"] == nil)
            if isApple { #expect(request.text.utf8.count <= 4_096) }
        }
    }

    @Test func `long signed URLs of people go before the alert does`() async throws {
        let url = "https://files.example.com/" + String(repeating: "s", count: 1_800)
        let sender: JSONValue = ["user_id": "ann", "nickname": "Ann", "profile_url": .string(url)]
        let mention: JSONValue = ["user_id": "bob", "nickname": "Bob", "profile_url": .string(url)]
        var event = Self.event(
            ["message_id": 1, "message": "Hello Bob"],
            sender)
        let data = try JSONValue.parse(event.data).merging(
            ["mentioned_users": [mention]])
        event = Event(type: "message.sent", data: data.text)
        let rig = try await SendbirdTests.rig()
        let note = try #require(
            try rig.build(event, [SendbirdTests.device()]).contents.first
        ).notification
        #expect(await rig.end() == [])
        for (request, fields) in try await Self.sent(note) {
            #expect(fields == ["profile_url"])
            #expect(request.text.contains("Ann: Hello Bob") || request.text.contains("Hello Bob"))
        }
    }

    @Test func `a ticket with twenty long custom fields keeps the first of them`() async throws {
        let fields = (0..<20).map {
            JSONValue.Member("field_\($0)", .string(String(repeating: "v", count: 190)))
        }
        let ticket: JSONValue = ["id": 7, "channelName": "Help", "customFields": .object(fields)]
        let rig = try await SendbirdDeskTests.rig()
        let message = try JSONValue.parse(SendbirdDeskTests.message).merging(
            ["ticket": ticket])
        let built = try SendbirdDeskTests.build(rig, message.text)
        let note = try #require(built.contents.first).notification
        #expect(await rig.end() == [])
        for (request, left) in try await Self.sent(note) {
            #expect(left == ["custom_fields"])
            #expect(request.text.contains("field_0") && !request.text.contains("field_19"))
        }
    }
}
