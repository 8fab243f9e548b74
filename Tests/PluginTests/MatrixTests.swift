import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct MatrixTests {
    static let apps = #"""
        "apps":[{"app_id":"org.matrix.example.ios","platform":"ios","app":"com.example.app"},
        {"app_id":"org.matrix.example.*","platform":"android"},
        {"app_id":"*.huawei","platform":"huawei"}]
        """#

    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig("Matrix", config: "{\(apps)\(more)}", services: services)
    }

    static func post(_ rig: RoleRig, _ body: String) async -> IngestResult {
        await rig.handle(body, path: "/_matrix/push/v1/notify")
    }

    static func text(_ result: IngestResult) throws -> String {
        String(decoding: try #require(result.answer).body, as: UTF8.self)
    }

    /// A request about an event, for one iOS device.
    static func request(_ device: String, _ fields: String = #""event_id":"$1""#) -> String {
        #"{"notification":{\#(fields),"devices":[\#(device)]}}"#
    }

    static let ios = #"{"app_id":"org.matrix.example.ios","pushkey":"Chss","pushkey_ts":100}"#

    static func dead(_ key: String, unixMs: UInt64) -> DeviceChange {
        var device = Device(platform: "ios", token: "0a1b2c")
        device.sourceToken = key
        return DeviceChange(kind: .invalid, device: device, timeUnixMs: unixMs)
    }

    // MARK: Requests

    @Test func `each device is an event with the notification and what its pusher says`()
        async throws
    {
        let rig = try await Self.rig()
        let result = await Self.post(rig, try PluginRig.fixture("Matrix/message.json"))
        #expect(result.answer?.status == 200)
        #expect(try Self.text(result) == #"{"rejected":[]}"#)
        #expect(result.events.map(\.type) == ["event.received", "event.received"])
        #expect(Set(result.events.map(\.subject)) == ["$3957tyerfgewrf384"])
        let devices = result.events.compactMap(\.recipients.first?.device)
        #expect(devices.map(\.platform) == ["ios", "android"])
        // A pushkey for Apple is base64 of the token.
        #expect(devices.map(\.token) == ["0a1b2c", "fcm:1"])
        #expect(devices.map(\.sourceToken) == ["Chss", "fcm:1"])
        #expect(devices.map(\.app) == ["com.example.app", ""])
        let data = try JSONValue.parse(result.events[0].data)
        #expect(data["sender_display_name"]?.string == "Major Tom")
        #expect(data["device"]?["tweaks"]?["highlight"] == .bool(true))
        #expect(data["device"]?["app_id"]?.string == "org.matrix.example.ios")
        #expect(data["devices"] == nil && !result.events[0].data.contains("Chss"))
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("", "M_NOT_JSON", "not JSON"), ("{}", "M_MISSING_PARAM", "notification is missing"),
        (#"{"notification":7}"#, "M_BAD_JSON", "notification must be an object"),
        (#"{"notification":{}}"#, "M_MISSING_PARAM", "notification.devices is missing"),
        (#"{"notification":{"devices":[]}}"#, "M_BAD_JSON", "at least one device"),
        (#"{"notification":{"devices":[{}],"event_id":7}}"#, "M_BAD_JSON", "event_id must be text"),
        (
            #"{"notification":{"devices":[{}],"content":[]}}"#, "M_BAD_JSON",
            "content must be an object"
        ),
        (
            #"{"notification":{"devices":[{}],"counts":{"unread":"x"}}}"#, "M_BAD_JSON",
            "counts.unread must be an integer"
        ),
        (
            #"{"notification":{"devices":[{}],"user_is_target":1}}"#, "M_BAD_JSON",
            "user_is_target must be true or false"
        ),
    ])
    func `an unusable request is refused with Matrix's code and the path`(
        body: String, code: String, words: String
    ) async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, body)
        #expect(result.fault?.kind == .invalid && result.answer?.status == 400)
        let json = try JSONValue.parse(try Self.text(result))
        #expect(json["errcode"]?.string == code)
        #expect(json["error"]?.string?.contains(words) == true, "\(json.text)")
        #expect(await rig.end() == [])
    }

    @Test func `too many devices are refused, and 1000 are not`() async throws {
        let rig = try await Self.rig()
        func body(_ count: Int) -> String {
            Self.request(
                (0..<count).map { #"{"app_id":"x.huawei","pushkey":"k\#($0)"}"# }.joined(
                    separator: ","))
        }
        let result = await Self.post(rig, body(1_001))
        #expect(result.answer?.status == 413 && result.fault?.kind == .tooLarge)
        #expect(try Self.text(result).contains("M_TOO_LARGE"))
        #expect(await Self.post(rig, body(1_000)).events.count == 1_000)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("7", "no_pushkey", "[]"), (#"{"app_id":"org.matrix.example.ios"}"#, "no_pushkey", "[]"),
        (#"{"app_id":"org.other","pushkey":"k"}"#, "unknown_app", "[]"),
        (#"{"app_id":"org.matrix.example.ios","pushkey":"!!"}"#, "bad_pushkey", #"["!!"]"#),
        (
            #"{"app_id":"org.matrix.example.ios","pushkey":"Chss","data":[]}"#, "wrong_type",
            "[]"
        ),
        (Self.ios, "duplicate", "[]"),
    ])
    func `one bad device harms no other, and a pushkey that can never work is named`(
        bad: String, reason: String, rejected: String
    ) async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, Self.request("\(Self.ios),\(bad)"))
        #expect(result.events.map { $0.recipients[0].device.token } == ["0a1b2c"])
        #expect(result.rejects.map(\.reason) == [reason])
        #expect(try Self.text(result) == #"{"rejected":\#(rejected)}"#)
        #expect(await rig.end() == [])
    }

    @Test func `an unknown app_id removes pushers only if that is wanted`() async throws {
        let rig = try await Self.rig(#","unknown_apps":"reject""#)
        let result = await Self.post(
            rig, Self.request(#"{"app_id":"org.other","pushkey":"k"}"#))
        #expect(try Self.text(result) == #"{"rejected":["k"]}"#)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("org.matrix.example.ios", "ios"), ("org.matrix.example.other", "android"),
        ("com.acme.huawei", "huawei"), ("org.matrix.example", nil), ("huawei", nil),
        (".huawei", "huawei"),
    ])
    func `an app_id is found by its name, else by a pattern`(appID: String, platform: String?)
        async throws
    {
        let rig = try await Self.rig()
        let result = await Self.post(
            rig, Self.request(#"{"app_id":"\#(appID)","pushkey":"Chss"}"#))
        #expect(result.events.first?.recipients[0].device.platform == platform)
        #expect(await rig.end() == [])
    }

    @Test func `a repeated request is the same event, another device or event is not`()
        async throws
    {
        let rig = try await Self.rig()
        func event(_ body: String) async throws -> Event {
            try #require(await Self.post(rig, body).events.first)
        }
        let first = try await event(Self.request(Self.ios))
        #expect(first.dedupeWindowMs == 86_400_000)
        #expect(try await event(Self.request(Self.ios)).dedupe == first.dedupe)
        let other = Self.ios.replacing("Chss", with: "Chst")
        #expect(try await event(Self.request(other)).dedupe != first.dedupe)
        let next = try await event(Self.request(Self.ios, #""event_id":"$2""#))
        #expect(next.dedupe != first.dedupe)
        let counts = try await event(PluginRig.fixture("Matrix/counts.json"))
        #expect(counts.dedupe.isEmpty && counts.type == "counts.changed")
        #expect(await rig.end() == [])
    }

    @Test func `without event and counts there is nothing to push`() async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, Self.request(Self.ios, #""prio":"low""#))
        #expect(result.answer?.status == 200 && result.events.isEmpty)
        #expect(result.rejects.map(\.reason) == ["no_counts"])
        #expect(await rig.end() == [])
    }

    // MARK: Dead pushkeys

    @Test func `a pushkey that a provider called dead is named, until it is set again`()
        async throws
    {
        let services = RigServices()
        let rig = try await Self.rig(services: services)
        let (requests, settled) = try rig.prepare([Self.dead("Chss", unixMs: 100_000)])
        #expect(requests.isEmpty && settled.map(\.reason) == ["remembered"])
        let both = Self.request(#"\#(Self.ios),{"app_id":"x.huawei","pushkey":"k"}"#)
        let result = await Self.post(rig, both)
        #expect(try Self.text(result) == #"{"rejected":["Chss"]}"#)
        #expect(result.events.map { $0.recipients[0].device.token } == ["k"])
        #expect(result.rejects.map(\.reason) == ["dead_pushkey"])
        // The app registered the same token after the report.
        let later = both.replacing(#""pushkey_ts":100"#, with: #""pushkey_ts":101"#)
        let again = await Self.post(rig, later)
        #expect(try Self.text(again) == #"{"rejected":[]}"#)
        #expect(again.events.count == 2)
        #expect(services.lines.allSatisfy { !$0.contains("Chss") })
        #expect(await rig.end() == [])
    }

    @Test func `dead pushkeys have so much room, whoever names them`() async throws {
        let services = RigServices()
        let rig = try await Self.rig(services: services)
        for part in 0..<400 {
            let dead = (0..<100).map { Self.dead("key-\(part)-\($0)", unixMs: 100_000) }
            #expect(try rig.prepare(dead).settled.count == 100)
        }
        #expect(services.valueCount <= 16_384)
        // What was named last has its place.
        let device = #"{"app_id":"x.huawei","pushkey":"key-399-99","pushkey_ts":100}"#
        let result = await Self.post(rig, Self.request(device))
        #expect(try Self.text(result) == #"{"rejected":["key-399-99"]}"#)
        #expect(await rig.end() == [])
    }

    @Test func `other changes of devices are ignored`() async throws {
        let rig = try await Self.rig()
        var change = Self.dead("Chss", unixMs: 100_000)
        change.kind = .registered
        #expect(try rig.prepare([change]).settled.map(\.reason) == ["ignored"])
        let result = await Self.post(rig, Self.request(Self.ios))
        #expect(try Self.text(result) == #"{"rejected":[]}"#)
        #expect(rig.register?.wants(.invalid) == true)
        #expect(rig.register?.wants(.registered) == false)
        #expect(await rig.end() == [])
    }

    @Test func `the health path is sygnal's`() async throws {
        let rig = try await Self.rig()
        let result = await rig.handle("", path: "/health", method: "GET")
        #expect(result.answer?.status == 200 && result.fault == nil)
        #expect(await rig.end() == [])
        let bare = try await Self.rig(#","health":"""#)
        #expect(bare.ingest?.paths.map(\.pattern) == ["/_matrix/push/v1/notify"])
        #expect(await bare.end() == [])
    }

    @Test func `hostile bodies are refused with a reason, and hostile members harm nobody`()
        async throws
    {
        let rig = try await Self.rig()
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(bytes, path: "/_matrix/push/v1/notify")
            #expect(result.fault?.kind == .invalid, "\(name)")
            #expect(try Self.text(result).hasPrefix(#"{"errcode":"M_"#), "\(name)")
        }
        for name in ["message", "event-id-only"] {
            let whole = try JSONValue.parse(try PluginRig.fixture("Matrix/\(name).json"))
            let notification = try #require(whole["notification"])
            let device = try #require(notification["devices"]?[0])
            for (object, wrap) in [
                (notification, { #"{"notification":\#($0)}"# }), (device, { Self.request($0) }),
            ] {
                try await Self.vary(object) { text in
                    let result = await Self.post(rig, wrap(text))
                    if let fault = result.fault { #expect(fault.kind == .invalid) }
                    for event in result.events { _ = try rig.build(event, event.recipients) }
                }
            }
        }
        #expect(await rig.end() == [])
    }

    /// Calls with the object, one member at a time replaced by a hostile value.
    private static func vary(
        _ object: JSONValue, _ body: (String) async throws -> Void
    ) async throws {
        guard case .object(let members) = object else { return }
        for member in members {
            for value in HostileBodies.values {
                let text = members.map {
                    JSONValue.string($0.key).text + ":"
                        + ($0.key == member.key ? value : $0.value.text)
                }
                try await body("{\(text.joined(separator: ","))}")
            }
        }
    }
}
