import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// The Rust plugin for CloudEvents: who may send, who receives, and hostile bodies.
@Suite struct CloudEventsDoorTests {
    typealias Events = CloudEventsTests

    @Test(arguments: [
        ("Bearer token-of-the-sender", true), ("bearer  another-token-of-it ", true),
        ("Bearer token-of-the-sende", false), ("Bearer token-of-the-senderx", false),
        ("Bearer ", false), ("Bearer", false), ("Basic token-of-the-sender", false), ("", false),
        ("token-of-the-sender", false),
    ])
    func `one of the bearer tokens must fit, before anything is parsed`(
        header: String, fits: Bool
    ) async throws {
        let rig = try await Events.rig(
            #"{"path":"/in/ce","bearer":["token-of-the-sender","another-token-of-it"],"recipients":[{"user":"u"}]}"#
        )
        for body in ["{{{", Events.event()] {
            let result = await rig.handle(
                body, path: Events.path, headers: [("authorization", header), Events.structured])
            let isEvent = fits && body != "{{{"
            #expect(result.events.count == (isEvent ? 1 : 0))
            #expect(result.fault?.kind == (isEvent ? nil : fits ? .invalid : .auth))
            #expect(result.fault?.message.contains("token-of") != true)
        }
        #expect(await rig.end() == [])
    }

    static let key = "a-key-for-signatures"

    static func signed(_ more: String = "") -> String {
        #"{"path":"/in/ce","hmac":{"secrets":["old-key-for-signatures","\#(key)"]\#(more)},"recipients":[{"user":"u"}]}"#
    }

    static func digest(_ text: String) -> [UInt8] {
        HMACDigest.sha256(key: Array(key.utf8), data: Array(text.utf8))
    }

    static func hex(_ text: String) -> String {
        digest(text).map { String(format: "%02x", $0) }.joined()
    }

    @Test func `a signature over the body must fit one of the keys`() async throws {
        let rig = try await Events.rig(Self.signed())
        let body = Events.event()
        let good = Self.hex(body)
        for (value, fits) in [
            ("sha256=\(good)", true), ("sha256=\(good.uppercased())", true), (good, false),
            ("sha256=\(Self.hex("other"))", false), ("sha256=", false), ("sha256=zz", false),
            ("sha256=\(good.dropLast(2))", false), ("", false),
        ] {
            for text in [body, "{{{"] {
                let result = await rig.handle(
                    text, path: Events.path,
                    headers: [Events.structured, ("x-signature-256", value)])
                let isEvent = fits && text == body
                #expect(result.events.count == (isEvent ? 1 : 0), "\(value)")
                #expect(result.fault?.kind == (isEvent ? nil : .auth), "\(value)")
            }
        }
        #expect(await rig.end() == [])
    }

    @Test func `a signature as base64 in another field, and a bearer token with it`() async throws {
        let config = Self.signed(#","header":"x-sig","prefix":"","encoding":"base64""#)
            .replacingOccurrences(of: #""path""#, with: #""bearer":["token-of-the-sender"],"path""#)
        let rig = try await Events.rig(config)
        let body = Events.event()
        let signature = ("x-sig", Data(Self.digest(body)).base64EncodedString())
        for (headers, fits) in [
            ([Events.bearer, signature], true), ([signature], false), ([Events.bearer], false),
        ] {
            let result = await rig.handle(
                body, path: Events.path, headers: [Events.structured] + headers)
            #expect(result.fault?.kind == (fits ? nil : .auth))
        }
        #expect(await rig.end() == [])
    }

    @Test func `binary attributes are not taken from unsigned header fields`() async throws {
        let head = [
            ("content-type", "application/json"), ("ce-specversion", "1.0"), ("ce-id", "1"),
            ("ce-source", "/s"), ("ce-type", "t"),
        ]
        let refusing = try await Events.rig(Self.signed())
        let plain = await refusing.handle(
            "{}", path: Events.path,
            headers: head + [("x-signature-256", "sha256=\(Self.hex("{}"))")])
        #expect(plain.fault?.kind == .auth && plain.fault?.message.contains("structured") == true)
        #expect(await refusing.end() == [])

        let rig = try await Events.rig(Self.signed(#","binary":"signed""#))
        // The text that the README describes.
        let text =
            "ce-id:1\nce-source:/s\nce-specversion:1.0\nce-type:t\ncontent-type:application/json\n\n{}"
        let signature = ("x-signature-256", "sha256=\(Self.hex(text))")
        let good = await rig.handle("{}", path: Events.path, headers: head + [signature])
        #expect(good.fault == nil && good.events.count == 1)
        var other = head
        other[4] = ("ce-type", "u")
        for (body, headers) in [
            ("{}", other), ("{ }", head), ("{}", head + [("ce-subject", "s")]),
            ("{}", Array(head.dropFirst())),
        ] {
            let result = await rig.handle(body, path: Events.path, headers: headers + [signature])
            #expect(result.fault?.kind == .auth)
        }
        // A signed binary event is not accepted as a structured one.
        let moved = await rig.handle(
            text, path: Events.path, headers: [Events.structured, signature])
        #expect(moved.fault?.kind == .invalid)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#"{"bearer":["token-of-the-sender"]}"#, true, ""), ("{}", false, "give bearer or hmac"),
    ])
    func `without authentication there is no instance`(
        more: String, isFine: Bool, word: String
    ) async throws {
        try await RustRig.plugins()
        let inner = more.dropFirst().dropLast()
        let config =
            #"{"path":"/in/ce","recipients":[{"user":"u"}]\#(inner.isEmpty ? "" : ",")\#(inner)}"#
        let made = await Result { try await RoleRig("CloudEvents", config: config) }
        switch made {
        case .success(let rig):
            #expect(isFine)
            #expect(rig.ingest?.paths == [IngestPath(pattern: Events.path, methods: ["POST"])])
            #expect(await rig.end() == [])
        case .failure(let fault): #expect(!isFine && "\(fault)".contains(word), "\(fault)")
        }
    }

    @Test(arguments: [
        (#"[{"token":"/t"}]"#, "platform"), (#"[{"platform":"ios"}]"#, "user"),
        (#"[{"each":"/a"}]"#, "user"), (#"[{"each":"a","user":"u"}]"#, "form"),
        ("[]", "elements"), (#"[{"usr":"u"}]"#, "unknown"),
    ])
    func `rules that can reach nobody are refused`(rules: String, word: String) async throws {
        try await RustRig.plugins()
        let made = await Result {
            try await RoleRig("CloudEvents", config: Events.config(rules))
        }
        guard case .failure(let fault) = made else {
            Issue.record("\(rules) was taken")
            return
        }
        #expect("\(fault)".contains(word), "\(fault)")
    }

    @Test func `recipients come from pointers, attributes and fixed words`() async throws {
        let rules = """
            [{"each":"/devices","token":"/id","platform":"/os","app":"/app","provider":"/via","locale":"/lang","user":"/u"},
             {"each":"/users","user":".","app":"com.example.app"},
             {"each":"/owner","user":"/id"}, {"user":"@customer"}, {"each":"/missing","user":"fixed"}]
            """
        let data = """
            {"devices":[{"id":"t1","os":"ios","app":"a","via":"apns","lang":"de","u":7},{"id":"t2"},{"os":"ios"},
              {"id":"t1","os":"ios","app":"a","via":"apns","lang":"de","u":7},9,{"id":"\(String(repeating: "x", count: 4_097))","os":"ios"}],
             "users":["u1",2,null,"u1"],"owner":{"id":"u3"}}
            """
        let rig = try await Events.rig(Events.config(rules))
        let result = await rig.handle(
            Events.event(#","customer":"u4""#, data: data), path: Events.path,
            headers: [Events.bearer, Events.structured])
        let recipients = try #require(result.events.first).recipients
        #expect(recipients.map(\.device.user) == ["7", "u1", "2", "u3", "u4"])
        #expect(recipients[0].device.token == "t1" && recipients[0].device.platform == "ios")
        #expect(recipients[0].device.app == "a" && recipients[0].device.provider == "apns")
        #expect(recipients[0].device.locale == "de")
        #expect(recipients[1].device.app == "com.example.app")
        #expect(
            result.rejects.map(\.reason) == [
                "no_platform", "no_token_or_user", "duplicate_recipient", "no_token_or_user",
                "token_too_long", "no_token_or_user", "duplicate_recipient",
            ])
        #expect(!result.rejects.contains { $0.detail.contains("t1") })
        let nobody = await rig.handle(
            Events.event(data: "{}"), path: Events.path,
            headers: [Events.bearer, Events.structured])
        #expect(nobody.fault == nil && nobody.events.isEmpty)
        #expect(rig.services.lines.contains { $0.contains("names no usable recipient") })
        #expect(await rig.end() == [])
    }

    @Test func `too many recipients or events are too large`() async throws {
        let rig = try await Events.rig(Events.config(#"[{"each":"/u","user":"."}]"#))
        func event(_ count: Int) -> String {
            Events.event(data: #"{"u":[\#((0..<count).map(String.init).joined(separator: ","))]}"#)
        }
        let headers = [Events.bearer, Events.structured]
        let all = await rig.handle(event(10_000), path: Events.path, headers: headers)
        #expect(all.events.first?.recipients.count == 10_000)
        let more = await rig.handle(event(10_001), path: Events.path, headers: headers)
        #expect(more.fault?.kind == .tooLarge && more.events.isEmpty)
        let batch = await rig.handle(
            "[\(event(10_001)),\(event(1))]", path: Events.path,
            headers: [Events.bearer, Events.batched])
        #expect(batch.events.count == 1 && batch.rejects.map(\.reason) == ["too_many_recipients"])
        let many = Array(repeating: event(1), count: 1_001).joined(separator: ",")
        let crowd = await rig.handle(
            "[\(many)]", path: Events.path, headers: [Events.bearer, Events.batched])
        #expect(crowd.fault?.kind == .tooLarge && crowd.events.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `a sender may ask whether it may deliver`() async throws {
        let rig = try await Events.rig(
            Events.config(more: #","webhook_origins":["eventgrid.example"]"#))
        #expect(rig.ingest?.paths.first?.methods == ["POST", "OPTIONS"])
        let known = await rig.handle(
            "", path: Events.path, method: "OPTIONS",
            headers: [
                ("webhook-request-origin", "eventgrid.example"), ("webhook-request-rate", "9"),
            ])
        #expect(known.answer?.status == 200)
        let headers = known.answer?.headers.map { "\($0.key): \($0.value)" }
        #expect(
            headers == [
                "allow: POST", "webhook-allowed-origin: eventgrid.example",
                "webhook-allowed-rate: *",
            ])
        for origin in ["other.example", "*", ""] {
            let other = await rig.handle(
                "", path: Events.path, method: "OPTIONS",
                headers: [("webhook-request-origin", origin)])
            #expect(other.answer?.status == 403 && other.events.isEmpty)
        }
        #expect(await rig.end() == [])
    }

    @Test func `a builder takes words from where the options say`() async throws {
        let rig = try await Events.rig()
        let data = #"{"title":"T","text":{"b":"B"},"link":"https://l","keys":{"a":"1"},"body":7}"#
        let recipients = [Recipient(device: Device(platform: "ios", token: "a"))]
        let event = Event(type: "t", data: data)
        let plain = try rig.build(
            event, recipients,
            options: #"{"title":"/title","body":"/body","link":"/link","payload":"/title"}"#)
        let first = try #require(plain.contents.first)
        #expect(first.notification.title == "T" && first.notification.body == "7")
        #expect(first.notification.link == "https://l" && first.notification.sound == "")
        // Text is not a payload.
        #expect(first.notification.data == "")
        let given = try rig.build(
            event, recipients,
            options: #"{"title":"","body":"/text/b","payload":"/keys","sound":"ping"}"#)
        let second = try #require(given.contents.first)
        #expect(second.notification.title == "" && second.notification.body == "B")
        #expect(second.notification.sound == "ping")
        let payload = try JSONValue.parse(second.notification.data)
        #expect(payload["a"] == .string("1"))
        #expect(second.targets.map(\.recipient) == [0])
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused with a reason, in every mode`() async throws {
        let rig = try await Events.rig(Events.config(#"[{"user":"/user"}]"#))
        let binary = [
            ("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "t"),
        ]
        #expect(HostileBodies.all.count == 27)
        for (name, bytes) in HostileBodies.all {
            let one = await rig.handle(
                bytes, path: Events.path, headers: [Events.bearer, Events.structured])
            #expect(one.fault?.kind == .invalid && one.events.isEmpty, "\(name)")
            let batch = await rig.handle(
                bytes, path: Events.path, headers: [Events.bearer, Events.batched])
            #expect(batch.fault?.kind == (name == "a list" ? nil : .invalid), "\(name)")
            #expect(batch.events.isEmpty)
            let nested = await rig.handle(
                Array("[".utf8) + bytes + Array("]".utf8), path: Events.path,
                headers: [Events.bearer, Events.batched])
            #expect(
                nested.fault?.kind == (["empty", "only spaces"].contains(name) ? nil : .invalid),
                "\(name)")
            // As data they may be any JSON; they name no recipients.
            let data = await rig.handle(
                bytes, path: Events.path, headers: [Events.bearer] + binary)
            #expect(data.fault == nil || data.fault?.kind == .invalid, "\(name)")
            #expect(data.events.isEmpty, "\(name)")
        }
        #expect(await rig.end() == [])
    }

    @Test func `hostile values anywhere make no event that cannot be read`() async throws {
        let rig = try await Events.rig(
            Events.config(
                #"[{"user":"u"},{"each":"/d","token":"/t","platform":"/p","user":"@ext"}]"#))
        let fields = [
            "specversion", "id", "source", "type", "subject", "time", "dataschema",
            "datacontenttype", "ext", "data", "data_base64",
        ]
        for value in HostileBodies.values {
            var bodies = fields.map { field in
                var base = [
                    "specversion": #""1.0""#, "id": #""1""#, "source": #""/s""#, "type": #""t""#,
                ]
                base[field] = value
                return "{\(base.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
            }
            bodies.append(Events.event(data: #"{"d":\#(value)}"#))
            bodies.append(Events.event(data: #"{"d":[\#(value),{"t":\#(value),"p":"ios"}]}"#))
            bodies.append(
                Events.event(data: #"{"d":[{"t":"x","p":\#(value)}],"cloudevent":\#(value)}"#))
            for body in bodies {
                let result = await rig.handle(
                    body, path: Events.path, headers: [Events.bearer, Events.structured])
                let kind = result.fault?.kind
                #expect([nil, .invalid, .unsupported].contains(kind), "\(body.prefix(200))")
                #expect(result.events.count <= 1)
                for event in result.events {
                    #expect(!event.type.isEmpty && event.dedupe.count < 5_000)
                    #expect(try JSONValue.parse(event.data)["cloudevent"]?["id"] != nil)
                    _ = try rig.build(event, event.recipients)
                }
            }
        }
        #expect(await rig.end() == [])
    }
}

extension Result where Failure == any Error, Success: Sendable {
    /// The result of asynchronous code.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
