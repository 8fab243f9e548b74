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

    static func config(_ recipients: String = recipients) -> String {
        #"{"path":"/in/ce","bearer":["token-of-the-sender"],"recipients":\#(recipients)}"#
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

    @Test func `a structured event becomes an event with its data and attributes`() async throws {
        let more =
            #","subject":"order/7","time":"2026-01-02T03:04:05.678+01:00","dataschema":"https://s","tenant":"t","flag":true,"count":-3,"nothing":null"#
        let rig = try await Self.rig()
        let result = await rig.handle(
            Self.event(more, data: #"{"order":{"no":7},"cloudevent":"mine",\#(Self.devices)}"#),
            path: Self.path, headers: [Self.bearer, Self.structured])
        #expect(await rig.end() == [])
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
