import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// The Rust plugin for CloudEvents: the three content modes, and what they must reject.
@Suite struct CloudEventsTests {
    static let token = "token-of-the-sender"
    static let path = "/in/ce"
    static let recipients = #"[{"each":"/devices","token":"/token","platform":"/platform"}]"#
    static let devices = #""devices":[{"token":"t1","platform":"ios"}]"#

    static func config(_ recipients: String = recipients, more: String = "") -> String {
        #"{"path":"/in/ce","bearer":["token-of-the-sender"],"recipients":\#(recipients)\#(more)}"#
    }

    /// Builds the plugin and makes an instance.
    static func rig(
        _ config: String = config(), services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RustRig.plugins()
        return try await RoleRig("CloudEvents", config: config, services: services)
    }

    static let bearer = ("authorization", "Bearer \(token)")
    static let structured = ("content-type", "application/cloudevents+json")
    static let batched = ("content-type", "application/cloudevents-batch+json")

    static func event(_ more: String = "", data: String = "{\(devices)}") -> String {
        #"{"specversion":"1.0","id":"A-1","source":"/shop","type":"com.example.sold"\#(more),"data":\#(data)}"#
    }

    @Test func `a rule that names nobody is no fault beside one that does`() async throws {
        let rules =
            #"[{"each":"/devices","token":"/token","platform":"/platform"},{"user":"@customerid"}]"#
        let named = try await structured(Self.event(), config: Self.config(rules))
        #expect(named.events.first?.recipients.map(\.device.token) == ["t1"])
        #expect(named.rejects.isEmpty)
        let nobody = try await structured(Self.event(data: "{}"), config: Self.config(rules))
        #expect(nobody.rejects.map(\.reason) == ["no_token_or_user"])
    }

    /// The result of one structured event.
    func structured(_ body: String, config: String = config()) async throws -> IngestResult {
        let rig = try await Self.rig(config)
        let result = await rig.handle(
            body, path: Self.path, headers: [Self.bearer, Self.structured])
        #expect(await rig.end() == [])
        return result
    }

    @Test func `a structured event becomes an event with its data and attributes`() async throws {
        let more =
            #","subject":"order/7","time":"2026-01-02T03:04:05.678+01:00","dataschema":"https://s","tenant":"t","flag":true,"count":-3,"nothing":null"#
        let result = try await structured(
            Self.event(more, data: #"{"order":{"no":7},"cloudevent":"mine",\#(Self.devices)}"#))
        #expect(result.fault == nil && result.rejects.isEmpty && result.answer == nil)
        let event = try #require(result.events.first)
        #expect(result.events.count == 1)
        #expect(event.type == "com.example.sold")
        #expect(event.subject == "order/7")
        #expect(event.dedupe == "/shop A-1")
        #expect(event.timeUnixMs == 1_767_319_445_678)
        #expect(event.recipients.map(\.device.token) == ["t1"])
        #expect(event.recipients.map(\.device.platform) == ["ios"])
        let data = try JSONValue.parse(event.data)
        #expect(data["order"]?["no"] == .integer(7))
        let attributes = try JSONValue.parse(
            #"{"id":"A-1","source":"/shop","type":"com.example.sold","subject":"order/7","time":"2026-01-02T03:04:05.678+01:00","dataschema":"https://s","tenant":"t","flag":true,"count":-3}"#
        )
        #expect(data["cloudevent"] == attributes)
    }

    @Test func `a binary event has its attributes in header fields`() async throws {
        let rig = try await Self.rig()
        let result = await rig.handle(
            "{\(Self.devices)}", path: Self.path,
            headers: [
                Self.bearer, ("content-type", "application/json; charset=utf-8"),
                ("ce-specversion", "1.0"), ("ce-id", #""a \"b\"%20c""#), ("ce-source", "/shop"),
                ("ce-type", "com.example.sold"), ("ce-subject", "Euro%20%E2%82%AC%2520"),
                ("ce-tenant", "t"), ("x-other", "1"),
            ])
        #expect(result.fault == nil && result.rejects.isEmpty)
        let event = try #require(result.events.first)
        #expect(event.dedupe == #"/shop a "b" c"#)
        // Decoded once.
        #expect(event.subject == "Euro €%20")
        let data = try JSONValue.parse(event.data)
        #expect(data["cloudevent"]?["tenant"]?.string == "t")
        #expect(data["cloudevent"]?["datacontenttype"]?.string == "application/json; charset=utf-8")
        #expect(await rig.end() == [])
    }

    @Test func `a batch loses its bad events alone, and says which`() async throws {
        let rig = try await Self.rig()
        let batch = """
            [\(Self.event()), {"specversion":"1.0"}, 7, \(Self.event(#","time":"noon""#)), \(Self.event(#","subject":"s""#))]
            """
        let result = await rig.handle(
            batch, path: Self.path, headers: [Self.bearer, Self.batched])
        #expect(result.fault == nil)
        #expect(result.events.map(\.subject) == ["", "s"])
        #expect(
            result.rejects.map(\.reason) == ["missing_attribute", "no_object", "bad_attribute"])
        let answer = try #require(result.answer)
        #expect(answer.status == 200)
        let body = try JSONValue.parse(answer.body)
        #expect(body["accepted"] == .integer(2))
        #expect(body["refused"]?[0]?["index"] == .integer(1))
        #expect(body["refused"]?[2]?["index"] == .integer(3))
        #expect(body["refused"]?[2]?["reason"]?.string == "bad_attribute")
        #expect(body["refused"]?[2]?["detail"]?.string == #"the attribute "time" is malformed"#)
        let none = await rig.handle(
            "[1,2]", path: Self.path, headers: [Self.bearer, Self.batched])
        #expect(none.fault?.kind == .invalid && none.events.isEmpty)
        let problem = try #require(none.answer)
        #expect(problem.status == 400)
        #expect(problem.headers.first?.value == "application/problem+json")
        #expect(try JSONValue.parse(problem.body)["refused"]?[1]?["reason"]?.string == "no_object")
        let empty = await rig.handle(
            "[]", path: Self.path, headers: [Self.bearer, Self.batched])
        #expect(empty.fault == nil && empty.events.isEmpty && empty.answer == nil)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#"{"id":"1","source":"/s","type":"t"}"#, "missing_attribute", "specversion"),
        (#"{"specversion":"1.0","source":"/s","type":"t"}"#, "missing_attribute", "\"id\""),
        (
            #"{"specversion":"1.0","id":null,"source":"/s","type":"t"}"#, "missing_attribute",
            "\"id\""
        ),
        (#"{"specversion":"1.0","id":"1","type":"t"}"#, "missing_attribute", "source"),
        (#"{"specversion":"1.0","id":"1","source":"/s"}"#, "missing_attribute", "type"),
        (#"{"specversion":"0.3","id":"1","source":"/s","type":"t"}"#, "unsupported_version", "1.0"),
        (#"{"specversion":1.0,"id":"1","source":"/s","type":"t"}"#, "bad_attribute", "neither"),
        (#"{"specversion":"1.0","id":7,"source":"/s","type":"t"}"#, "bad_attribute", "\"id\""),
        (#"{"specversion":"1.0","id":"","source":"/s","type":"t"}"#, "bad_attribute", "\"id\""),
        (#"{"specversion":"1.0","id":"a\nb","source":"/s","type":"t"}"#, "bad_attribute", "\"id\""),
        (
            #"{"specversion":"1.0","id":"\uffff","source":"/s","type":"t"}"#, "bad_attribute",
            "\"id\""
        ),
        (#"{"specversion":"1.0","id":"1","source":"a b","type":"t"}"#, "bad_attribute", "source"),
        (#"{"specversion":"1.0","id":"1","source":"ü","type":"t"}"#, "bad_attribute", "source"),
        (event(#","dataschema":"<x>""#), "bad_attribute", "dataschema"),
        (event(#","time":"2026-02-30T00:00:00Z""#), "bad_attribute", "time"),
        (event(#","subject":"""#), "bad_attribute", "subject"),
        (event(#","id":"2""#), "duplicate_attribute", "twice"),
        (event(#","ext":"a","ext":"b""#), "duplicate_attribute", "twice"),
        (event(#","Ext":"a""#), "bad_extension", "lower-case"),
        (event(#","a_b":"a""#), "bad_extension", "lower-case"),
        (event(#","ext":2147483648"#), "bad_extension", "value"),
        (event(#","ext":1.5"#), "bad_attribute", "neither"),
        (event(#","ext":{"a":1}"#), "bad_attribute", "neither"),
        (event(#","data_base64":"e30=""#), "bad_data", "both"),
        (event(#","data":{}"#), "duplicate_attribute", "twice"),
    ])
    func `a malformed event is refused with its reason`(
        body: String, reason: String, word: String
    ) async throws {
        let result = try await structured(body)
        #expect(result.events.isEmpty)
        let fault = try #require(result.fault)
        #expect(fault.kind == .invalid)
        #expect(fault.message.contains(word), "\(fault.message)")
        #expect(result.rejects.map(\.reason) == [reason])
    }

    @Test(arguments: [
        (event(data: "[1,2]"), "[1,2]"), (event(data: #""text""#), #""text""#),
        (event(data: "null"), "null"),
    ])
    func `data that is no object stands under value`(body: String, value: String) async throws {
        let result = try await structured(
            body, config: Self.config(#"[{"user":"@source"}]"#))
        let data = try JSONValue.parse(try #require(result.events.first).data)
        #expect(data["value"] == (try JSONValue.parse(value)))
        #expect(result.events.first?.recipients.map(\.device.user) == ["/shop"])
    }

    @Test func `titles and texts that are numbers or booleans are texts`() async throws {
        let rig = try await Self.rig(Self.config(#"[{"user":"u"}]"#))
        let result = await rig.handle(
            Self.event(data: #"{"title":7,"body":true,"link":[]}"#), path: Self.path,
            headers: [Self.bearer, Self.structured])
        let event = try #require(result.events.first)
        let built = try rig.build(
            event, event.recipients,
            options: #"{"title":"/title","body":"/body","link":"/link"}"#)
        let note = try #require(built.contents.first?.notification)
        #expect(note.title == "7" && note.body == "true" && note.link == "")
        #expect(await rig.end() == [])
    }

    @Test func `base64 data is decoded, and without data there are the attributes`() async throws {
        let encoded = Data("{\(Self.devices)}".utf8).base64EncodedString()
        let head = #"{"specversion":"1.0","id":"1","source":"/s","type":"t""#
        let given = try await structured(#"\#(head),"data_base64":"\#(encoded)"}"#)
        #expect(given.events.first?.recipients.map(\.device.token) == ["t1"])
        for (wrong, reason) in [
            (#","data_base64":"e30"#, "bad_data"), (#","data_base64":"e3","#, "bad_data"),
            (#","data_base64":7"#, "bad_data"),
            (#","datacontenttype":"text/xml","data_base64":"e30=""#, "unsupported_content"),
        ] {
            let result = try await structured("\(head)\(wrong)}")
            #expect(result.events.isEmpty && result.fault != nil, "\(wrong)")
            if result.fault?.kind != .invalid { #expect(result.rejects.map(\.reason) == [reason]) }
        }
        let bare = try await structured("\(head)}", config: Self.config(#"[{"user":"u"}]"#))
        let event = try #require(bare.events.first)
        #expect(try JSONValue.parse(event.data)["cloudevent"]?["id"]?.string == "1")
    }

    @Test(arguments: [
        ("application/cloudevents+avro", "{}", 415), ("application/cloudevents", "{}", 415),
        ("application/cloudevents-batch+protobuf", "{}", 415), ("application/json", "{}", 400),
        ("", "{}", 400), ("Application/CloudEvents+JSON; charset=UTF-8", event(), 200),
    ])
    func `other formats are refused by their content type`(
        type: String, body: String, status: UInt32
    ) async throws {
        let rig = try await Self.rig()
        let result = await rig.handle(
            body, path: Self.path, headers: [Self.bearer, ("content-type", type)])
        switch status {
        case 200: #expect(result.fault == nil && result.events.count == 1)
        case 415: #expect(result.answer?.status == 415 && result.fault?.kind == .unsupported)
        default: #expect(result.fault?.kind == .invalid && result.answer == nil)
        }
        #expect(await rig.end() == [])
    }

    @Test func `binary data other than JSON is a media type that is not supported`() async throws {
        let rig = try await Self.rig()
        let head = [
            Self.bearer, ("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"),
            ("ce-type", "t"),
        ]
        let xml = await rig.handle(
            "<a/>", path: Self.path, headers: head + [("content-type", "text/xml")])
        #expect(xml.answer?.status == 415 && xml.rejects.map(\.reason) == ["unsupported_content"])
        let broken = await rig.handle(
            "{", path: Self.path, headers: head + [("content-type", "application/x+json")])
        #expect(broken.fault?.kind == .invalid && broken.rejects.map(\.reason) == ["bad_data"])
        for (name, value) in [
            ("ce-id", "2"), ("ce-subject", "%zz"), ("ce-subject", #""open"#), ("ce-a-b", "x"),
            ("ce-data", "x"), ("ce-datacontenttype", "text/xml"), ("ce-subject", "%00"),
        ] {
            let result = await rig.handle(
                "{}", path: Self.path, headers: head + [(name, value)])
            #expect(result.fault?.kind == .invalid && result.events.isEmpty, "\(name): \(value)")
        }
        #expect(await rig.end() == [])
    }

    @Test func `what the plugin says of itself`() async throws {
        try await RustRig.plugins()
        let library = try PluginLibrary.load(try PluginRig.bundled("CloudEvents"))
        #expect(library.descriptor.id == "io.signalbox.cloudevents")
        #expect(library.descriptor.abi == "1.1")
        #expect(library.descriptor.roles == ["sbx.role.ingest/1", "sbx.role.build/1"])
        let symbols = try await RustRig.tool([
            "nm", "-D", "--extern-only", "--defined-only",
            try PluginRig.bundled("CloudEvents"),
        ])
        #expect(symbols.split(separator: "\n").count == 1)
        #expect(symbols.contains("T sbx_plugin_entry_v1"))
    }
}
