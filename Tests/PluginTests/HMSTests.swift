import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct HMSTests {
    func rig(
        _ more: [JSONValue.Member] = [],
        server: @escaping RigServices.Server = { _ in FCMTests.granted("at/1==") }
    ) async throws -> SendRig {
        let config = JSONValue.object(
            [.init("client_id", .string("c-1")), .init("client_secret", .string("s&=1"))] + more)
        return try await SendRig(
            "HMS", config: config.text, services: RigServices(server: server))
    }

    @Test(arguments: ["no", "production"], [false, true])
    func `a text that is too long is shortened, wherever it is`(quick: String, isDataOnly: Bool)
        async throws
    {
        let rig = try await rig([.init("quick_app", .string(quick))])
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: "huawei") {
            $0.title = "T"
            $0.body = body
            $0.isDataOnly = isDataOnly
            $0.data = #"{"id":"5"}"#
        }
        #expect(request.text.utf8.count <= 4_096 + 4)
        #expect(request.text.utf8.count > 3_900 && request.text.contains("…"))
        #expect(request.text.contains(#"id\"#))
        #expect(rig.services.shortenedFields == ["body"])
        await rig.end()
    }

    @Test func `a refused client says so, without its secret, and is not repeated for ever`()
        async throws
    {
        let body = #"{"error":1101,"sub_error":20043,"error_description":"s&=1 is wrong"}"#
        let rig = try await rig(server: { _ in
            .success(PluginHTTPAnswer(status: 400, body: Array(body.utf8)))
        })
        for _ in 0..<3 {
            let fault = await #expect(throws: PluginFault.self) {
                try await rig.prepare([SendRig.delivery(1, SendRig.note { $0.body = "b" })])
            }
            #expect(fault?.kind == .auth)
        }
        func isWritten() -> Bool { rig.services.lines.contains { $0.contains("400: 1101/20043") } }
        await rig.services.waitFor(isWritten)
        #expect(isWritten())
        #expect(!rig.services.lines.contains { $0.contains("s&=1") })
        #expect(rig.services.calls.count == 1)
        await rig.end()
    }
}
