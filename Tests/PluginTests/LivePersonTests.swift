import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct LivePersonTests {
    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig(
            "LivePerson",
            config: #"{"path":"/in/lp","user":"lp","password":"secret:word"\#(more)}"#,
            services: services)
    }

    static let basic = ("authorization", "Basic " + Base64.encode(Array("lp:secret:word".utf8)))

    static func post(
        _ rig: RoleRig, _ body: String, headers: [(String, String)] = [basic],
        certificate: String = ""
    ) async -> IngestResult {
        await rig.handle(body, path: "/in/lp", headers: headers, certificate: certificate)
    }

    static func fixture(_ name: String) throws -> String {
        try PluginRig.fixture("LivePerson/\(name).json")
    }

    // MARK: Who calls

    @Test(arguments: [
        nil, "", "Basic", "Basic !!!", "Bearer x", "Basic " + Base64.encode(Array("lp".utf8)),
        "Basic " + Base64.encode(Array("lp:wrong".utf8)),
        "Basic " + Base64.encode(Array("other:secret:word".utf8)),
        "Basic " + Base64.encode(Array("lp:".utf8)),
    ])
    func `wrong credentials are refused before anything is parsed`(value: String?) async throws {
        let rig = try await Self.rig()
        for body in ["{{{", try Self.fixture("ios")] {
            let result = await Self.post(
                rig, body, headers: value.map { [("authorization", $0)] } ?? [])
            #expect(result.fault?.kind == .auth)
        }
        #expect(await rig.end() == [])
    }

    @Test func `certificate and static headers, alone and together`() async throws {
        let rig = try await Self.rig(
            #"""
            ,"client_certificates":["CN=proxy"],"headers":[{"name":"X-Key","value":"k1"},{"name":"X-Two","value":"k2"}]
            """#)
        let body = try Self.fixture("ios")
        let all = [Self.basic, ("x-key", "k1"), ("x-two", "k2")]
        #expect(await Self.post(rig, body, headers: all, certificate: "CN=proxy").fault == nil)
        for index in all.indices {
            var some = all
            some.remove(at: index)
            let result = await Self.post(rig, body, headers: some, certificate: "CN=proxy")
            #expect(result.fault?.kind == .auth)
        }
        for certificate in ["", "CN=other"] {
            let result = await Self.post(rig, body, headers: all, certificate: certificate)
            #expect(result.fault?.kind == .auth)
        }
        #expect(await rig.end() == [])

        let alone = try await RoleRig(
            "LivePerson", config: #"{"path":"/in/lp","client_certificates":["CN=proxy"]}"#)
        #expect(await Self.post(alone, body, headers: [], certificate: "CN=proxy").fault == nil)
        #expect(await alone.end() == [])
    }

    @Test(arguments: [
        (#"{"path":"/a"}"#, "bodies bear no signature"),
        (#"{"path":"/a","user":"u"}"#, "or neither"),
        (#"{"path":"/a","password":"p"}"#, "or neither"),
    ])
    func `an open door is refused`(config: String, words: String) async throws {
        let fault = await #expect(throws: PluginFault.self) {
            _ = try await RoleRig("LivePerson", config: config)
        }
        #expect(fault?.message.contains(words) == true)
    }

    // MARK: Bodies

    @Test(arguments: [
        ("ios", "ios", "0a1b2c"), ("android", "android", "fcm:Token-1"),
        ("huawei", "huawei", "hms-1"),
    ])
    func `the three shapes`(name: String, platform: String, token: String) async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, try Self.fixture(name))
        #expect(result.answer?.status == 200)
        let event = try #require(result.events.first)
        #expect(event.type == "message.received")
        #expect(event.subject == "conversation/c-1")
        #expect(event.recipients.map(\.device.platform) == [platform])
        #expect(event.recipients.map(\.device.token) == [token])
        let data = try JSONValue.parse(event.data)
        #expect(data["device-token"] == nil)
        #expect(data["lp"]?["brandId"]?.string == "acc")
        #expect(data["lp"]?["badge"]?.integer == 1)
        #expect(data["lp"]?["message"]?.string == "Agent: hello")
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#""badge":1"#, #""badge":"1""#), (#""sequence":3"#, #""sequence":"3""#),
        (#""push-service":1"#, #""push-service":"1""#),
        (#""alert":"Agent: hello""#, #""alert":{"title":"t","body":"Agent: hello"}"#),
        (#""notificationType":"apn""#, #""notificationType":7,"future":{"a":[1]}"#),
    ])
    func `types may vary`(from: String, to: String) async throws {
        let rig = try await Self.rig()
        let plain = try Self.fixture("ios")
        let event = try #require(
            await Self.post(rig, plain.replacing(from, with: to)).events.first)
        let data = try JSONValue.parse(event.data)
        #expect(data["lp"]?["badge"]?.integer == 1)
        #expect(data["lp"]?["sequence"]?.string == "3")
        #expect(data["lp"]?["message"]?.string == "Agent: hello")
        #expect(await rig.end() == [])
    }

    @Test(arguments: [("7", "7"), ("true", "true"), (#"{"title":1,"body":2.5}"#, "2.5")])
    func `numbers and booleans are texts`(alert: String, text: String) async throws {
        let rig = try await Self.rig()
        let body = try Self.fixture("ios").replacing(#""Agent: hello""#, with: alert)
        let event = try #require(await Self.post(rig, body).events.first)
        let note = try #require(
            try rig.build(event, event.recipients).contents.first?.notification)
        #expect(note.body == text && note.title == (text == "2.5" ? "1" : ""))
        #expect(await rig.end() == [])
    }

    @Test func `the same push again has the same key, another one has not`() async throws {
        let rig = try await Self.rig()
        func key(_ body: String) async throws -> String {
            let event = try #require(await Self.post(rig, body).events.first)
            #expect(event.dedupeWindowMs == 120_000)
            return event.dedupe
        }
        let plain = try Self.fixture("ios")
        let first = try await key(plain)
        #expect(try await key(plain) == first)
        for (from, to) in [
            (#""sequence":3"#, #""sequence":4"#), ("c-1", "c-2"), ("0a1b2c", "0a1b2d"),
        ] {
            #expect(try await key(plain.replacing(from, with: to)) != first)
        }
        #expect(await rig.end() == [])
    }

    @Test func `pushes without a number are told apart by their content`() async throws {
        let rig = try await Self.rig()
        func key(_ body: String) async throws -> String {
            try #require(await Self.post(rig, body).events.first).dedupe
        }
        let plain = try Self.fixture("ios").replacing(#","sequence":3"#, with: "")
        let other = plain.replacing("Agent: hello", with: "Agent: bye")
        #expect(try await key(plain) == key(plain))
        #expect(try await key(plain) != key(other))
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("ams", "message.received"), ("prmsg", "proactive.received"), ("c2m", "c2m.received"),
        ("new", "message.received"),
    ])
    func `proactive and C2M have types of their own, and keep their keys`(
        service: String, type: String
    ) async throws {
        let rig = try await Self.rig()
        let body = try Self.fixture("ios").replacing(#""ams""#, with: "\"\(service)\"").replacing(
            #""notificationType""#,
            with:
                #""id":"p-1","lookBackPeriod":1000,"campaignInfo":{"campaignId":1},"notificationType""#
        )
        let event = try #require(await Self.post(rig, body).events.first)
        #expect(event.type == type)
        let built = try rig.build(event, event.recipients)
        let data = try JSONValue.parse(try #require(built.contents.first).notification.data)
        #expect(data["id"]?.string == "p-1" && data["lookBackPeriod"]?.integer == 1000)
        #expect(data["campaignInfo"]?["campaignId"]?.integer == 1)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#""device-token":"0a1b2c""#, #""x":1"#, "device-token"),
        (#""device-token":"0a1b2c""#, #""device-token":7"#, "device-token"),
        (#""device-token":"0a1b2c""#, #""device-token":"""#, "device-token"),
        (#""push-service":1"#, #""push-service":4"#, "push-service"),
        (#""push-service":1"#, #""push-service":null"#, "push-service"),
        (#""push-service":1"#, #""push-service":2"#, "data: must be"),
        (#""push-service":1"#, #""push-service":2,"data":{"payload":7}"#, "data.payload"),
        (#""brandId":"acc""#, #""brandId":"other""#, "brandId"),
    ])
    func `what cannot be used is named by its path`(
        from: String, to: String, words: String
    ) async throws {
        let rig = try await Self.rig(#","brand_id":"acc""#)
        let fault = try #require(
            await Self.post(rig, try Self.fixture("ios").replacing(from, with: to)).fault)
        #expect(fault.kind == .invalid)
        #expect(fault.message.contains(words), "\(fault.message)")
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused with a reason`() async throws {
        let rig = try await Self.rig()
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(bytes, path: "/in/lp", headers: [Self.basic])
            #expect(result.fault?.kind == .invalid, "\(name)")
        }
        let good = try JSONValue.parse(Self.fixture("android"))
        guard case .object(let members) = good else { return }
        for member in members {
            for value in HostileBodies.values {
                let text = members.map {
                    JSONValue.string($0.key).text + ":"
                        + ($0.key == member.key ? value : $0.value.text)
                }.joined(separator: ",")
                let result = await Self.post(rig, "{\(text)}")
                if let fault = result.fault { #expect(fault.kind == .invalid) }
                if let event = result.events.first {
                    _ = try rig.build(event, event.recipients)
                }
            }
        }
        #expect(await rig.end() == [])
    }

    // MARK: Registration

    @Test(
        arguments: [
            ("ams", nil, 403), ("ams", "", 200), ("ams", "agent", 403), ("prmsg", "agent", 200),
            ("c2m", "agent", 200), ("prmsg", nil, 403),
        ] as [(String, String?, UInt32)])
    func `only registered tokens get pushes, and after a logout "agent" only proactive ones`(
        service: String, muted: String?, status: UInt32
    ) async throws {
        let services = RigServices()
        if let muted {
            services.devices = [
                Device(
                    app: "a", platform: "ios", token: "0a1b2c", user: "u", locale: "de",
                    attributes: muted.isEmpty ? [] : [Attribute("muted", muted)])
            ]
        }
        let rig = try await Self.rig(
            #","registration":"required","app":"a""#, services: services)
        let body = try Self.fixture("ios").replacing(#""ams""#, with: "\"\(service)\"")
        let result = await Self.post(rig, body)
        #expect(result.fault == nil)
        #expect(result.answer?.status == status)
        #expect(result.events.first?.recipients.first?.device.user == (status == 200 ? "u" : nil))
        #expect(result.rejects.count == (status == 200 ? 0 : 1))
        #expect(await rig.end() == [])
    }

    // MARK: Payload

    @Test func `on iOS the keys stand at the top, and aps stays as it came`() async throws {
        let rig = try await Self.rig()
        let event = try #require(await Self.post(rig, try Self.fixture("ios")).events.first)
        let note = try #require(try rig.build(event, event.recipients).contents.first)
            .notification
        #expect(note.badge == 1)
        #expect(note.body == "Agent: hello")
        #expect(
            note.data
                == #"{"backendService":"ams","conversationId":"c-1","dialogId":"d-1","originatorId":"acc.agent","brandId":"acc","badge":1,"sequence":3,"notificationType":"apn"}"#
        )
        #expect(
            note.overrides == [
                PayloadOverride(family: "shorten", json: #"{"places":["/message"]}"#),
                PayloadOverride(
                    family: "apns", json: #"{"aps":{"alert":"Agent: hello","sound":"default"}}"#),
            ])
        #expect(await rig.end() == [])
    }

    @Test(arguments: ["android", "huawei"])
    func `on Android the payload is text`(name: String) async throws {
        let rig = try await Self.rig()
        let event = try #require(await Self.post(rig, try Self.fixture(name)).events.first)
        let note = try #require(try rig.build(event, event.recipients).contents.first)
            .notification
        #expect(note.isDataOnly)
        let data = try JSONValue.parse(note.data)
        #expect(data["message"]?.string == "Agent: hello")
        #expect(
            data["payload"]?.string
                == #"{"backendService":"ams","conversationId":"c-1","dialogId":"d-1","originatorId":"acc.agent","brandId":"acc","badge":1,"sequence":3}"#
        )
        #expect(data["push-service"] == nil && data["lp"] == nil)
        for family in ["fcm", "hms"] {
            let patch = note.overrides.first { $0.family == family }?.json
            #expect(patch == #"{"data":{"title":null,"body":null}}"#)
        }
        // The payload's ids are never shortened.
        #expect(
            note.overrides.first { $0.family == "shorten" }?.json == #"{"places":["/message"]}"#)
        #expect(await rig.end() == [])
    }
}
