import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct AirshipTests {
    func rig(
        _ more: [JSONValue.Member] = [],
        login: JSONValue.Member = .init("master_secret", .string("s~?>"))
    ) async throws -> SendRig {
        let config = JSONValue.object([.init("app_key", .string("k-1")), login] + more)
        return try await SendRig("Airship", config: config.text, services: RigServices())
    }

    @Test(arguments: ["ios", "android", "web", ""])
    func `a text that is too long is shortened`(platform: String) async throws {
        let rig = try await rig()
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: platform) {
            $0.title = "T"
            $0.body = body
            $0.data = #"{"id":"5"}"#
        }
        let notification = try #require(request.body["notification"])
        #expect(notification.text.utf8.count <= 3_584 && notification.text.utf8.count > 3_400)
        #expect(notification.at("alert").hasSuffix("…"))
        #expect(rig.services.shortenedFields == ["body"])
        let large = SendRig.note { $0.data = #"{"id":"\#(String(repeating: "x", count: 4_000))"}"# }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, platform: platform, large)])
        #expect(settled.first?.reason == "payload_too_large")
        await rig.end()
    }
}
