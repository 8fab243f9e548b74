import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Synchronization
import Testing

/// What the surrounding systems learn about devices.
@Suite(.timeLimit(.minutes(5))) struct ReportTests {
    static func rig(_ api: VendorAPI) async throws -> ExampleRig {
        var variables = SeedDocumentTests.sendbird
        variables["SENDBIRD_ENDPOINT"] = api.origin
        return try await ExampleRig(
            "sendbird-forwarding", variables: variables,
            yaml: { $0.replacing("check_limit: true", with: "check_limit: false") })
    }

    @Test func `of a registration and a logout that could not be told only the logout is told`()
        async throws
    {
        let isOpen = Atomic(false)
        let api = try await VendorAPI.start { _ in
            isOpen.load(ordering: .relaxed) ? .json(["token": "x"]) : HTTPServerAnswer(status: 503)
        }
        let rig = try await Self.rig(api)
        try await rig.register("bob", "0a1b", "ios")
        _ = await api.first { $0.method == "POST" }
        try await rig.expect(
            200, "DELETE", "/v1/devices?user=bob",
            headers: [("authorization", "Bearer token-of-the-backend")])
        _ = await api.first { $0.method == "DELETE" }
        isOpen.store(true, ordering: .relaxed)
        let before = api.requests.count
        var after: [HTTPServerRequest] = []
        for _ in 0..<30_000 {
            after = Array(api.requests.dropFirst(before))
            if after.contains(where: { $0.method == "DELETE" }) { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(after.map(\.method) == ["DELETE"])
        let metrics = try await rig.client.patient(
            RESTCall(
                method: "GET", url: "http://127.0.0.1:\(rig.gateway.adminPort ?? 0)/metrics"))
        #expect(metrics.status == 200)
        await rig.end()
        await api.shutdown()
    }

    @Test func `a phone that changes hands is taken from the first user and given to the second`()
        async throws
    {
        let api = try await VendorAPI.start { _ in .json(["token": "x"]) }
        let rig = try await Self.rig(api)
        try await rig.register("first", "0a1b", "ios")
        try await rig.register("second", "0a1b", "ios")
        let removal = await api.first { $0.method == "DELETE" }
        #expect(removal?.path == "/v3/users/first/push/apns/0a1b")
        let second = await api.first { $0.path == "/v3/users/second/push/apns" }
        #expect(second?.method == "POST")
        await rig.end()
        await api.shutdown()
    }
}
