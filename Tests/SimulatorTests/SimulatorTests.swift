import Foundation
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The simulators as seen by a client that is not ours: libcurl.
@Suite struct SimulatorTests {
    final class Rig: Sendable {
        let simulators: Simulators
        let client: RESTClient
        let apnsKey: SigningKey

        init(_ options: SimulatorsOptions = .init()) async throws {
            simulators = try await Simulators.start(options)
            client = try RESTClient()
            let pem = try Data(contentsOf: URL(filePath: simulators.files.apnsKey))
            apnsKey = try SigningKey(pem: Array(pem))
        }

        func token(
            kid: String = "SIMKEY0001", iss: String = "SIMTEAM001", ageSeconds: Int = 0,
            key: SigningKey? = nil
        ) throws -> String {
            let iat = Int(Date().timeIntervalSince1970) - ageSeconds
            let head = Base64.encode(Array(#"{"alg":"ES256","kid":"\#(kid)"}"#.utf8), url: true)
            let body = Base64.encode(Array(#"{"iss":"\#(iss)","iat":\#(iat)}"#.utf8), url: true)
            let signature = try (key ?? apnsKey).signES256(Array("\(head).\(body)".utf8))
            return "\(head).\(body).\(Base64.encode(signature, url: true))"
        }

        func push(
            _ path: String = "/3/device/0a1b", method: String = "POST", token: String? = nil,
            headers: [String: String] = [:], body: String = #"{"aps":{}}"#
        ) async throws -> (status: UInt32, reason: String) {
            var fields = [
                "authorization": "bearer \(try token ?? self.token())",
                "apns-topic": "com.example.app", "apns-push-type": "alert",
            ]
            for (name, value) in headers { fields[name] = value }
            var call = RESTCall(
                method: method, url: simulators.apns.origin + path,
                headers: fields.filter { !$0.value.isEmpty }.map { Attribute($0.key, $0.value) },
                body: Array(body.utf8))
            call.caFile = simulators.files.ca
            let answer = try await client.patient(call)
            let reason = try? JSONValue.parse(answer.body)["reason"]?.string
            return (answer.status, reason ?? "")
        }

        func control(
            _ method: String, _ path: String, _ body: String = ""
        ) async throws -> RESTAnswer {
            try await client.patient(
                RESTCall(
                    method: method, url: "http://127.0.0.1:\(simulators.controlPort)\(path)",
                    body: Array(body.utf8)))
        }

        func end() async {
            client.shutdown()
            await simulators.shutdown()
        }
    }

    @Test func `a good push is taken and reported`() async throws {
        let rig = try await Rig()
        let id = "123e4567-e89b-42d3-a456-426614174000"
        let answer = try await rig.push(headers: ["apns-id": id])
        #expect(answer.status == 200)
        let received = try #require(rig.simulators.apns.received.first)
        #expect(received.token == "0a1b" && received.status == 200 && received.number == 1)
        #expect(received.header("apns-id") == id)
        #expect(received.header("authorization") == nil)
        await rig.end()
    }

    @Test(arguments: [
        (["apns-topic": ""], 400, "MissingTopic"),
        (["apns-topic": "com.other"], 400, "TopicDisallowed"),
        (["apns-push-type": ""], 400, "InvalidPushType"),
        (["apns-push-type": "nonsense"], 400, "InvalidPushType"),
        (["apns-push-type": "voip"], 400, "BadTopic"),
        (["apns-push-type": "background"], 400, "BadPriority"),
        (["apns-priority": "7"], 400, "BadPriority"), (["apns-id": "x"], 400, "BadMessageId"),
        (["apns-expiration": "soon"], 400, "BadExpirationDate"),
        (["apns-collapse-id": String(repeating: "x", count: 65)], 400, "BadCollapseId"),
        (["authorization": ""], 403, "MissingProviderToken"),
        (["authorization": "bearer x.y.z"], 403, "InvalidProviderToken"),
        (["authorization": "basic x"], 403, "InvalidProviderToken"),
    ])
    func `headers are checked as Apple checks them`(
        headers: [String: String], status: UInt32, reason: String
    ) async throws {
        var options = SimulatorsOptions()
        options.apns.topics = ["com.example.app"]
        let rig = try await Rig(options)
        let answer = try await rig.push(headers: headers)
        #expect(answer.status == status && answer.reason == reason)
        await rig.end()
    }

    @Test func `tokens are checked: signature, names and age`() async throws {
        let rig = try await Rig()
        let other = try ThrowAway.p256Key()
        func reason(_ token: String) async throws -> String {
            try await rig.push(token: token).reason
        }
        #expect(try await reason(rig.token(key: other)) == "InvalidProviderToken")
        #expect(try await reason(rig.token(kid: "OTHERKEY01")) == "InvalidProviderToken")
        #expect(try await reason(rig.token(iss: "OTHERTEAM1")) == "InvalidProviderToken")
        #expect(try await reason(rig.token(ageSeconds: -600)) == "InvalidProviderToken")
        #expect(try await reason(rig.token(ageSeconds: 3700)) == "ExpiredProviderToken")
        #expect(try await reason(rig.token(ageSeconds: 10)) == "")
        // Another token on the same connection, too soon.
        #expect(try await reason(rig.token(ageSeconds: 5)) == "TooManyProviderTokenUpdates")
        await rig.end()
    }

    @Test func `path, method and size`() async throws {
        var options = SimulatorsOptions()
        options.apns.takesAnyToken = false
        let rig = try await Rig(options)
        #expect(try await rig.push("/4/x").reason == "BadPath")
        #expect(try await rig.push("/3/device/").reason == "MissingDeviceToken")
        #expect(try await rig.push(method: "PUT").reason == "MethodNotAllowed")
        // One token per connection: a new one so soon would be rejected itself.
        let token = try rig.token()
        #expect(try await rig.push("/3/device/xyz", token: token).reason == "BadDeviceToken")
        #expect(try await rig.push(token: token, body: "").reason == "PayloadEmpty")
        let large = #"{"a":"\#(String(repeating: "x", count: 4089))"}"#
        #expect(try await rig.push(token: token, body: large).reason == "PayloadTooLarge")
        #expect(try await rig.push(token: token, body: String(large.dropFirst(1))).status == 400)
        await rig.end()
    }

    @Test func `the control API gives orders and tells what arrived`() async throws {
        let rig = try await Rig()
        let order =
            #"{"order":"fail","tokens":["aa"],"status":410,"reason":"Unregistered","times":1}"#
        #expect(try await rig.control("POST", "/apns/orders", order).status == 204)
        let failed = try await rig.push("/3/device/aa")
        #expect(failed.status == 410 && failed.reason == "Unregistered")
        #expect(try await rig.push("/3/device/aa").status == 200)
        let report = try await rig.control("GET", "/apns/received?count=2&timeout_ms=5000")
        let json = try JSONValue.parse(report.body)
        #expect(json[0]?["status"]?.integer == 410 && json[1]?["status"]?.integer == 200)
        #expect(try await rig.control("DELETE", "/apns/received").status == 204)
        #expect(rig.simulators.apns.received.isEmpty)
        #expect(try await rig.control("POST", "/apns/orders", "{").status == 400)
        let unknown = try await rig.control("POST", "/fcm/orders", #"{"order":"dance"}"#)
        #expect(unknown.status == 400)
        #expect(String(decoding: unknown.body, as: UTF8.self).contains("order must be one of"))
        let stray = #"{"order":"fail","status":410,"reasn":"Unregistered"}"#
        let refused = try await rig.control("POST", "/apns/orders", stray)
        #expect(refused.status == 400)
        let detail = try JSONValue.parse(refused.body)["detail"]?.string ?? ""
        #expect(
            detail == #"the order fail has no key "reasn" (did you mean "reason"?); its keys are "#
                + "order, tokens, status, reason, times, retry_after")
        #expect(try await rig.control("PUT", "/fcm/orders").status == 405)
        #expect(try await rig.control("GET", "/sms/received").status == 404)
        await rig.end()
    }

    @Test func `an order may name the wait of a failure`() async throws {
        let rig = try await Rig()
        let order = #"{"order":"fail","status":429,"reason":"TooManyRequests","retry_after":7}"#
        for provider in ["apns", "fcm", "hms"] {
            #expect(try await rig.control("POST", "/\(provider)/orders", order).status == 204)
        }
        for simulator in [rig.simulators.apns, rig.simulators.fcm, rig.simulators.hms] {
            var call = RESTCall(method: "POST", url: simulator.origin + "/3/device/aa")
            call.caFile = rig.simulators.files.ca
            let answer = try await rig.client.patient(call)
            #expect(answer.status == 429)
            #expect(answer.headers.first { $0.key == "retry-after" }?.value == "7")
        }
        await rig.end()
    }

    @Test(arguments: [
        #"{"order":"goaway","after":3,"reason":"Shutdown","answer":false}"#,
        #"{"order":"refuse","count":2}"#, #"{"order":"reset"}"#, #"{"order":"stall"}"#,
        #"{"order":"cut"}"#, #"{"order":"delay","ms":5}"#, #"{"order":"streams","max":3}"#,
        #"{"order":"close_listener","cut":false}"#, #"{"order":"open_listener"}"#,
        #"{"order":"expire_credentials"}"#, #"{"order":"clear"}"#,
    ])
    func `every order can be read`(text: String) throws {
        guard case .success = SimulatorOrder.parse(try JSONValue.parse(text)) else {
            Issue.record("\(text) was refused")
            return
        }
    }

    // MARK: FCM

    func assertion(
        _ rig: Rig, change: (inout [String: Any]) -> Void = { _ in }, key: SigningKey? = nil
    ) throws -> String {
        let file = try Data(contentsOf: URL(filePath: rig.simulators.files.serviceAccount))
        let account = try JSONValue.parse(Array(file))
        let pem = try #require(account["private_key"]?.string)
        let now = Int(Date().timeIntervalSince1970)
        var claims: [String: Any] = [
            "iss": account["client_email"]?.string ?? "", "aud": account["token_uri"]?.string ?? "",
            "scope": "https://www.googleapis.com/auth/firebase.messaging", "iat": now,
            "exp": now + 3600,
        ]
        change(&claims)
        let kid = account["private_key_id"]?.string ?? ""
        let head = Base64.encode(Array(#"{"alg":"RS256","kid":"\#(kid)"}"#.utf8), url: true)
        let body = Base64.encode(
            Array(try JSONSerialization.data(withJSONObject: claims)), url: true)
        let signer = try key ?? SigningKey(pem: Array(pem.utf8))
        let signature = try signer.signRS256(Array("\(head).\(body)".utf8))
        return "\(head).\(body).\(Base64.encode(signature, url: true))"
    }

    func grant(_ rig: Rig, _ assertion: String) async throws -> (UInt32, JSONValue) {
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        var call = RESTCall(
            method: "POST", url: rig.simulators.fcm.origin + "/token",
            body: Array("grant_type=\(grant)&assertion=\(assertion)".utf8))
        call.caFile = rig.simulators.files.ca
        let answer = try await rig.client.patient(call)
        return (answer.status, try JSONValue.parse(answer.body))
    }

    @Test func `the token endpoint verifies assertions`() async throws {
        let rig = try await Rig()
        let good = try await grant(rig, try assertion(rig))
        #expect(good.0 == 200)
        #expect(good.1["access_token"]?.string?.isEmpty == false)
        #expect(good.1["expires_in"]?.integer == 3599)
        let bad = [
            try assertion(rig, key: try ThrowAway.rsaKey()),
            try assertion(rig) { $0["aud"] = "https://elsewhere" },
            try assertion(rig) { $0["iss"] = "somebody" },
            try assertion(rig) { $0["scope"] = "x" },
            try assertion(rig) { $0["exp"] = Int(Date().timeIntervalSince1970) + 7200 },
            try assertion(rig) { $0["exp"] = 1 }, "rubbish",
        ]
        for text in bad {
            let (status, json) = try await grant(rig, text)
            #expect(status == 400)
            #expect(json["error"]?.string == "invalid_grant")
        }
        await rig.end()
    }

    @Test(arguments: [
        (
            #"{"message":{"token":"t","data":{"a":"b"},"android":{"ttl":"5s","priority":"HIGH"}}}"#,
            200, ""
        ),
        (#"{"message":{"token":"t"},"validate_only":true}"#, 200, ""),
        (#"{"message":{"token":"t","data":{"a":1}}}"#, 400, "message.data[0].value"),
        (#"{"message":{"token":"t","data":{"google.x":"1"}}}"#, 400, "message.data"),
        (#"{"message":{"token":"t","topic":"x"}}"#, 400, "message"),
        (#"{"message":{}}"#, 400, "message"), (#"{"message":{"token":""}}"#, 400, ""),
        (#"{"message":{"token":"t","colour":"x"}}"#, 400, "message.colour"),
        (#"{"message":{"token":"t","android":{"ttl":"5"}}}"#, 400, "message.android.ttl"),
        (
            #"{"message":{"token":"t","android":{"priority":"high"}}}"#, 400,
            "message.android.priority"
        ),
        (#"{"massage":{}}"#, 400, "massage"), ("[]", 400, ""),
    ])
    func `messages are checked as FCM checks them`(
        body: String, status: UInt32, field: String
    ) async throws {
        let rig = try await Rig()
        let access = try await grant(rig, try assertion(rig)).1["access_token"]?.string ?? ""
        var call = RESTCall(
            method: "POST",
            url: rig.simulators.fcm.origin + "/v1/projects/signalbox-sim/messages:send",
            headers: [Attribute("authorization", "Bearer \(access)")], body: Array(body.utf8))
        call.caFile = rig.simulators.files.ca
        let answer = try await rig.client.patient(call)
        #expect(answer.status == status)
        let json = try JSONValue.parse(answer.body)
        if status == 200 {
            #expect(json["name"]?.string?.hasPrefix("projects/signalbox-sim/messages/") == true)
        } else {
            let details = json["error"]?["details"]
            #expect(details?[0]?["errorCode"]?.string == "INVALID_ARGUMENT")
            let found = details?[1]?["fieldViolations"]?[0]?["field"]?.string ?? ""
            #expect(found == field)
        }
        await rig.end()
    }

    @Test func `without a good access token nothing is sent`() async throws {
        let rig = try await Rig()
        var call = RESTCall(
            method: "POST",
            url: rig.simulators.fcm.origin + "/v1/projects/signalbox-sim/messages:send",
            headers: [Attribute("authorization", "Bearer made-up")],
            body: Array(#"{"message":{"token":"t"}}"#.utf8))
        call.caFile = rig.simulators.files.ca
        #expect(try await rig.client.patient(call).status == 401)
        await rig.end()
    }

    @Test func `files of a given folder stay, those of a temporary one go`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        var options = SimulatorsOptions()
        options.folder = folder
        let kept = try await Simulators.start(options)
        await kept.shutdown()
        #expect(FileManager.default.fileExists(atPath: "\(folder)/apns.p8"))
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/apns.p8")
        #expect((mode[.posixPermissions] as? Int) == 0o600)
        try FileManager.default.removeItem(atPath: folder)
        let gone = try await Simulators.start()
        await gone.shutdown()
        #expect(!FileManager.default.fileExists(atPath: gone.files.folder))
    }
}

extension RESTClient {
    /// Gets an answer, however busy the machine is.
    func patient(_ call: RESTCall) async throws -> RESTAnswer {
        var call = call
        call.timeoutMs = 120_000
        return try await answer(call)
    }
}
