import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

@Suite struct DeviceTests {
    static let clients = """

        devices:
          clients:
            - { name: backend, token: token-of-backend-1, app: com.example.app, scopes: [read, write, presence, badge] }
            - { name: reader, token: token-of-reader-22, app: com.example.app, scopes: [read] }
            - { name: other, token: token-of-other-333, app: com.other, scopes: [read, write, presence] }
        """

    static func rig() async throws -> GatewayRig {
        try await GatewayRig(config: {
            GatewayRig.plugins($0) + clients + "\n" + GatewayRig.routes
        })
    }

    static func call(
        _ rig: GatewayRig, _ method: String, _ path: String, _ body: String = "",
        token: String? = "token-of-backend-1"
    ) async throws -> (status: UInt32, json: JSONValue, answer: RESTAnswer) {
        let answer = try await rig.post(
            body, path: path, method: method,
            headers: token.map { [("authorization", "Bearer \($0)")] } ?? [])
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null, answer)
    }

    static func register(
        _ rig: GatewayRig, _ user: String, _ token: String, platform: String = "ios",
        client: String = "token-of-backend-1"
    ) async throws -> JSONValue {
        let body =
            #"{"user":"\#(user)","token":"\#(token)","platform":"\#(platform)","locale":"de"}"#
        let (status, json, _) = try await call(rig, "POST", "/v1/devices", body, token: client)
        #expect(status == 200)
        return json
    }

    static func tokens(
        _ rig: GatewayRig, _ user: String, client: String = "token-of-backend-1"
    ) async throws -> [String] {
        let (status, json, _) = try await call(
            rig, "GET", "/v1/devices?user=\(user)", token: client)
        #expect(status == 200)
        return (json["devices"]?.items ?? []).compactMap { $0["token"]?.string }
    }

    @Test func `devices come, are listed newest first, and go`() async throws {
        let rig = try await Self.rig()
        for token in ["a", "b", "c"] { _ = try await Self.register(rig, "u1", token) }
        #expect(try await Self.tokens(rig, "u1") == ["c", "b", "a"])
        let one = try await Self.call(rig, "DELETE", "/v1/devices?token=b")
        #expect(one.json["removed"]?.integer == 1)
        #expect(try await Self.tokens(rig, "u1") == ["c", "a"])
        let all = try await Self.call(rig, "DELETE", "/v1/devices?user=u1")
        #expect(all.json["removed"]?.integer == 2)
        #expect(try await Self.tokens(rig, "u1") == [])
        await rig.end()
    }

    @Test func `a client sees its own app alone, and does what its scopes allow`() async throws {
        let rig = try await Self.rig()
        _ = try await Self.register(rig, "u", "mine")
        #expect(try await Self.tokens(rig, "u", client: "token-of-other-333") == [])
        let body = #"{"user":"u","token":"x","platform":"ios"}"#
        let reader = try await Self.call(
            rig, "POST", "/v1/devices", body, token: "token-of-reader-22")
        #expect(reader.status == 403)
        let badge = try await Self.call(
            rig, "PUT", "/v1/devices/badge", #"{"user":"u","badge":1}"#,
            token: "token-of-reader-22")
        #expect(badge.status == 403)
        let strayed = try await Self.call(
            rig, "POST", "/v1/devices", #"{"user":"u","token":"x","platform":"ios","app":"b"}"#)
        #expect(strayed.status == 403)
        #expect(strayed.json["detail"]?.string?.contains("which this token is for") == true)
        for token in [nil, "wrong", ""] {
            let refused = try await Self.call(rig, "GET", "/v1/devices?user=u", token: token)
            #expect(refused.status == 401)
            #expect(refused.answer.header("www-authenticate") == "Bearer")
        }
        await rig.end()
    }

    private static let badRequests = [
        ("POST", "/v1/devices", "[]", "JSON object"),
        ("POST", "/v1/devices", #"{"token":"t","platform":"ios"}"#, "\"user\" is required"),
        (
            "POST", "/v1/devices", #"{"user":"u","token":"t","platform":"Web "}"#,
            "\"platform\" has letters"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u","token":"t","plattform":"ios"}"#,
            "there is no \"plattform\" (did you mean \"platform\"?); known: app, user"
        ),
        (
            "DELETE", "/v1/devices?user=u&tokn=t", "",
            "no parameter \"tokn\" (did you mean \"token\"?)"
        ),
        ("DELETE", "/v1/devices?user=u&user=v", "", "the parameter user is given twice"),
        ("DELETE", "/v1/devices?user=u", #"{"token":"t"}"#, "DELETE takes no body"),
        ("GET", "/v1/devices?usr=u", "", "no parameter \"usr\" (did you mean \"user\"?)"),
        (
            "PUT", "/v1/devices/presence", #"{"user":"u","online":true,"tokn":"t"}"#,
            "there is no \"tokn\" (did you mean \"token\"?)"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u","token":7,"platform":"ios"}"#,
            "\"token\" must be text"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u\u0000","token":"t","platform":"ios"}"#,
            "\"user\" has a control character"
        ),
        (
            "POST", "/v1/devices",
            #"{"user":"u","token":"t","platform":"ios","attributes":{"a":"\n"}}"#,
            "attribute has a control character"
        ),
        ("GET", "/v1/devices", "", "user is required"),
        ("DELETE", "/v1/devices", "", "give either"),
        ("DELETE", "/v1/devices?user=a&token=b", "", "give either"),
        ("PUT", "/v1/devices/presence", #"{"user":"u"}"#, "\"online\" must be"),
        (
            "POST", "/v1/devices", #"{"user":"u","token":"0a 1g","platform":"ios"}"#,
            "\"token\" must have no spaces and no control characters"
        ),
    ]

    @Test func `bad requests are told what is wrong`() async throws {
        let rig = try await Self.rig()
        for (method, path, body, words) in Self.badRequests {
            let refused = try await Self.call(rig, method, path, body)
            #expect(refused.status == 400, "\(body)")
            #expect(refused.json["detail"]?.string?.contains(words) == true, "\(body)")
        }
        await rig.end()
    }

    @Test func `the API is as docs-openapi says`() async throws {
        let rig = try await Self.rig()
        let file = PluginRig.root.appending(path: "docs/openapi.json")
        let spec = try JSONValue.parse(Array(Data(contentsOf: file)))
        guard case .object(let paths) = spec["paths"] else {
            Issue.record("no paths")
            return
        }
        for path in paths {
            guard case .object(let operations) = path.value else { continue }
            for operation in operations {
                let body = operation.value["requestBody"]?["content"]?["application/json"]?[
                    "example"]
                let query = body == nil ? "?user=u1" : ""
                let method = operation.key.uppercased()
                let good = try await Self.call(rig, method, path.key + query, body?.text ?? "")
                #expect(good.status == 200, "\(method) \(path.key)")
                let schema = operation.value["responses"]?["200"]?["content"]?["application/json"]?[
                    "schema"]
                guard case .array(let required) = schema?["required"] else {
                    Issue.record("no schema of \(method) \(path.key)")
                    continue
                }
                for name in required.compactMap(\.string) { #expect(good.json[name] != nil) }
                for status in ["400", "401", "403", "429", "503"] {
                    #expect(operation.value["responses"]?[status] != nil, "\(method) \(path.key)")
                }
            }
            let known = Set(operations.map { $0.key.uppercased() })
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] where !known.contains(method) {
                #expect(try await Self.call(rig, method, path.key, "{}").status == 405)
            }
        }
        await rig.end()
    }
}

/// A token that a provider reports dead is reported to the system that supplied it.
@Suite struct DeviceReportsTests {
    /// Zendesk's API: refuses the first call.
    private static func zendesk() async throws -> VendorAPI {
        let isFirst = Mutex(true)
        return try await VendorAPI.start { _ in
            isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
                    ? HTTPServerAnswer(status: 429, headers: [Attribute("retry-after", "1")])
                    : HTTPServerAnswer(status: 200, body: Array("\"\"".utf8))
            }
        }
    }

    /// The tokens of each call that was not refused.
    private static func tokens(_ api: VendorAPI) -> [[String]] {
        api.requests.dropFirst().map { request in
            let body = try? JSONValue.parse(request.body)
            return (body?["push_notification_devices"]?.items ?? []).compactMap(\.string)
        }
    }

    private static func rig(_ origin: String) async throws -> GatewayRig {
        try await GatewayRig(
            config: { simulators in
                (GatewayRig.plugins(simulators) + DeviceTests.clients + "\n" + GatewayRig.routes)
                    .replacingOccurrences(
                        of: "config: { path: /in/z }",
                        with: """
                            config: { path: /in/z, api: { endpoint: "\(origin)", email: a@b.c, \
                            api_token: "zd-secret" } }
                            """)
            })
    }

    private static func reported(_ api: VendorAPI, _ count: Int) async throws -> Set<String> {
        try await until("\(count) reports") { tokens(api).joined().count >= count }
        return Set(tokens(api).joined())
    }

    @Test func `dead tokens go back exactly as they were delivered`() async throws {
        let api = try await Self.zendesk()
        let rig = try await Self.rig(api.origin)
        try await rig.simulators.apns.take(
            .fail(tokens: ["dead01"], status: 410, reason: "Unregistered", times: nil))
        try await rig.simulators.fcm.take(
            .fail(tokens: ["gone:x"], status: 404, reason: "UNREGISTERED", times: nil))
        try await rig.post(
            GatewayRig.webhook([
                ("ios", "<DEAD 01>"), ("ios", "fine"), ("android", "gone:x"), ("android", "ok"),
            ]))
        #expect(try await Self.reported(api, 2) == ["<DEAD 01>", "gone:x"])
        let first = try #require(api.requests.first)
        #expect(first.path == "/api/v2/push_notification_devices/destroy_many")
        #expect(first.header("authorization") == "Basic YUBiLmMvdG9rZW46emQtc2VjcmV0")
        // It is reported once, however often a push is tried.
        try await rig.post(GatewayRig.webhook([("ios", "<DEAD 01>")], ticket: "6"))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["ok"])
        // At most a hundred go at a time. One phone in ten takes its push: a provider that takes none is not believed.
        let tokens = (0..<250).map { "t\($0)" }
        let dead = tokens.filter { !$0.hasSuffix("7") }
        try await rig.simulators.apns.take(
            .fail(tokens: dead, status: 410, reason: "Unregistered", times: nil))
        try await rig.post(GatewayRig.webhook(tokens.map { ("ios", $0) }, ticket: "7"))
        #expect(try await Self.reported(api, 227).isSuperset(of: dead))
        #expect(Self.tokens(api).allSatisfy { $0.count <= 100 })
        await rig.gateway.stop()
        #expect(Self.tokens(api).joined().count == 227)
        #expect(!rig.log.all.description.contains("zd-secret"))
        await rig.end()
        await api.shutdown()
    }

    @Test func `a provider that calls every token dead does not empty the registry`() async throws {
        let api = try await Self.zendesk()
        let rig = try await Self.rig(api.origin)
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 410, reason: "Unregistered", times: nil))
        let tokens = (0..<50).map { "t\($0)" }
        try await rig.post(GatewayRig.webhook(tokens.map { ("ios", $0) }))
        #expect(try await Self.reported(api, 20).count == 20)
        let letters = try await DurabilityTests.dead(rig, 30)["dead"]
        let reasons = (0..<30).map { letters?[$0]?["reason"]?.string }
        #expect(Set(reasons) == ["death_doubted"])
        await rig.gateway.stop()
        #expect(Self.tokens(api).joined().count == 20)
        await rig.end()
        await api.shutdown()
    }
}
