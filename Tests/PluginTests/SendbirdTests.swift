import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

@Suite struct SendbirdTests {
    static let config = #""path":"/in/sb","app_id":"APP-1","api_token":"master-api-token""#

    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig("Sendbird", config: "{\(config)\(more)}", services: services)
    }

    static func post(_ rig: RoleRig, _ body: String) async -> IngestResult {
        let digest = HMACDigest.sha256(key: Array("master-api-token".utf8), data: Array(body.utf8))
        return await rig.handle(
            body, path: "/in/sb", headers: [("x-sendbird-signature", Hex.encode(digest))])
    }

    static let noMembers = """
        {"category":"group_channel:message_send","app_id":"APP-1","sender":{"user_id":"alice"},
        "payload":{"message_id":1,"message":"m"},"channel":{"channel_url":"c/1","is_super":false}}
        """

    /// 2023-11-14T22:13:20Z: 23:13 in Vienna, 07:13 of the next day in Tokyo.
    static let now: UInt64 = 1_700_000_000_000

    /// A Platform API whose channel has so many members besides the sender.
    private static func channel(members count: Int) -> RigServices {
        RigServices(nowUnixMs: now) { call in
            guard call.url.contains("/members") else {
                return .success(PluginHTTPAnswer(status: 500))
            }
            let isSecond = call.url.contains("&token=2")
            let range = isSecond ? 100..<max(100, count) : 0..<min(100, count)
            let members = range.map { #"{"user_id":"m\#($0)","state":"joined"}"# }
            let body =
                #"{"members":[\#(members.joined(separator: ","))],"next":"\#(count > 100 && !isSecond ? "2" : "")"}"#
            return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
        }
    }

    private static func toSuperGroup(_ id: Int, _ category: String = "message_send") -> String {
        noMembers.replacing(#""is_super":false"#, with: #""is_super":"true""#)
            .replacing(#""message_id":1"#, with: #""message_id":\#(id)"#)
            .replacing("message_send", with: category)
    }

    @Test(arguments: [(99, true), (100, false), (150, false)])
    func `a supergroup gets every message below 100 members, above one in ten minutes`(
        count: Int, everyMessage: Bool
    ) async throws {
        let services = Self.channel(members: count)
        let rig = try await Self.rig(#","members":"fetch""#, services: services)
        func pushed(_ body: String) async -> Int {
            let result = await Self.post(rig, body)
            #expect(result.answer?.status == 200 && result.rejects.isEmpty)
            return result.events.first?.recipients.count ?? 0
        }
        #expect(await pushed(Self.toSuperGroup(1)) == count)
        #expect(await pushed(Self.toSuperGroup(2)) == (everyMessage ? count : 0))
        // Sendbird sends the first again: its answer was lost.
        #expect(await pushed(Self.toSuperGroup(1)) == count)
        #expect(
            services.counts["members_skipped_total"] ?? 0 == (everyMessage ? 0 : 1))
        // A deletion is for everybody, at once.
        #expect(await pushed(Self.toSuperGroup(1, "message_delete")) == count)
        #expect(await rig.end() == [])
    }

    static func device(
        _ platform: String = "ios", _ attributes: [(String, String)] = []
    ) -> Recipient {
        Recipient(
            device: Device(platform: platform, token: "t", user: "bob"),
            attributes: attributes.map { Attribute($0.0, $0.1) })
    }

    static let bobsAttributes = [("name", "Bob"), ("unread", "4"), ("channel_unread", "2")]

    /// "Enable multi-device support": rule, who is online (o) and offline (-), who gets it.
    @Test(arguments: [
        ("all_offline", "-", "1"), ("all_offline", "o", "0"), ("any_offline", "-", "1"),
        ("any_offline", "o", "0"), ("all_offline", "--", "11"), ("all_offline", "o-", "00"),
        ("all_offline", "-o", "00"), ("all_offline", "oo", "00"), ("any_offline", "--", "11"),
        ("any_offline", "o-", "01"), ("any_offline", "-o", "10"), ("any_offline", "oo", "00"),
        ("all_offline", "--o", "000"), ("any_offline", "-o-", "101"), ("always", "o-", "11"),
    ])
    func `several devices, as the table says`(
        rule: String, devices: String, pushes: String
    ) async throws {
        let rig = try await Self.rig(#","multi_device":"\#(rule)""#)
        let isAny = devices.contains("o")
        let recipients = devices.map { state in
            Self.device(
                "ios",
                Self.bobsAttributes + [
                    ("online", state == "o" ? "true" : "false"),
                    ("user_online", isAny ? "true" : "false"),
                ])
        }
        let data = try PluginRig.fixture("Sendbird/message-send.json")
        let built = try rig.build(Event(type: "message.sent", data: data), recipients)
        let chosen = Set(built.contents.flatMap(\.targets).map(\.recipient))
        let shown = devices.indices.enumerated().map { chosen.contains($0.offset) ? "1" : "0" }
        #expect(shown.joined() == pushes)
        #expect(built.skips.allSatisfy { $0.reason == "online" })
        #expect(await rig.end() == [])
    }

    @Test func `many preferences are asked for a few at a time`() async throws {
        let running = Mutex((now: 0, most: 0))
        let services = RigServices(nowUnixMs: Self.now) { _ in
            running.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
            usleep(1_000)
            running.withLock { $0.now -= 1 }
            return .success(PluginHTTPAnswer(status: 200, body: Array("{}".utf8)))
        }
        let rig = try await Self.rig(#","preferences":"fetch""#, services: services)
        let members = (0..<100).map { #"{"user_id":"m\#($0)"}"# }.joined(separator: ",")
        let body = Self.noMembers.replacing(
            "{\"category", with: "{\"members\":[\(members)],\"category")
        let result = await Self.post(rig, body)
        #expect(result.events.first?.recipients.count == 100)
        #expect(running.withLock { $0.most } <= 16)
        #expect(await rig.end() == [])
    }

    @Test func `without register nothing is forwarded`() async throws {
        let rig = try await Self.rig()
        await #expect(throws: PluginFault.self) {
            _ = try await rig.register?.endpoint(app: "")
        }
        #expect(await rig.end() == [])
    }
}

/// What is in flight when an instance stops.
@Suite struct StopTests {
    @Test func `a stop waits for answers that the plugin waits for`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let services = RigServices(nowUnixMs: SendbirdTests.now) { _ in
            gate.wait()
            return .success(PluginHTTPAnswer(status: 500))
        }
        // On a busy machine the request would time out first.
        services.isVirtual = true
        let rig = try await SendbirdTests.rig(#","members":"fetch""#, services: services)
        async let result = SendbirdTests.post(rig, SendbirdTests.noMembers)
        await services.waitFor { !services.calls.isEmpty }
        // There is no answer yet: the instance must not be destroyed.
        #expect(await rig.instance.stop(deadlineMs: 20) == false)
        gate.signal()
        #expect(await result.fault?.kind == .again)
    }
}
