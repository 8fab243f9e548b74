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
