import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// The filter role: a plugin in C, in this process and in its own.
@Suite struct FilterRoleTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Filter/by-token.c")
    }

    private struct Hosted {
        let instance: any HostedInstance
        let role: any Filtering
        let services = RigServices()

        init(_ isIsolated: Bool) async throws {
            let library = try await FilterRoleTests.library.value
            instance =
                isIsolated
                ? try await PluginRig.isolated(
                    library, config: .object([]), services: services
                ) { $0.waitFirstMs = 1 }
                : try await PluginRig.instance(
                    of: library, config: .object([]), services: services)
            role = try #require(try await instance.roles(limits: Limits()).filter)
        }

        func filter(
            _ tokens: [String], type: String = "message", options: JSONText = "{}"
        ) -> Result<Filtered, PluginFault> {
            role.filter(
                Event(source: "z", type: type, data: #"{"a":1}"#),
                recipients: tokens.map {
                    Recipient(device: Device(platform: "ios", token: $0))
                }, route: "r", options: options, nowUnixMs: 1_000)
        }
    }

    @Test(arguments: [false, true])
    func `it drops, changes and delays whom it names`(isIsolated: Bool) async throws {
        let hosted = try await Hosted(isIsolated)
        let made = try hosted.filter(
            ["other", "late", "dropped", "late"], options: #"{"wait_ms":500}"#
        ).get()
        #expect(made.parts.map(\.recipients) == [[1], [3]])
        #expect(made.parts.map(\.notBeforeUnixMs) == [1_500, 1_500])
        #expect(made.parts.first?.data?.text == #"{"title":"of the filter"}"#)
        let title = made.parts.first?.data?.parsed?.value(at: ["title"])
        #expect(title == .string("of the filter"))
        #expect(made.drops == [FanOut.Skip(recipient: 2, reason: "named_so")])
        let nobody = try hosted.filter([]).get()
        #expect(nobody.parts.isEmpty && nobody.drops.isEmpty)
        #expect(await hosted.instance.stop(deadlineMs: 5_000))
        #expect(hosted.services.faults == [])
    }

    @Test(arguments: [
        ("twice", PluginFault.Kind.invalid), ("again", .invalid), ("index", .invalid),
        ("data", .invalid), ("wait", .invalid), ("size", .invalid), ("huge", .tooLarge),
    ])
    func `what no filter may say is refused`(
        word: String, kind: PluginFault.Kind
    ) async throws {
        let hosted = try await Hosted(false)
        let made = hosted.filter(["a", "b"], type: "bad.\(word)")
        guard case .failure(let fault) = made else {
            Issue.record("\(word) was taken: \(made)")
            return
        }
        #expect(fault.kind == kind && fault.message == "as the host said")
        #expect(await hosted.instance.stop(deadlineMs: 5_000))
    }

    @Test(
        arguments: [
            ("twice", "drop(): an index"), ("data", "data is not a JSON object"),
            ("wait", "over 30 days away"), ("size", "pass() got no part"),
            ("huge", "data is too large"),
        ], [false, true])
    func `a filter that does not notice a refusal has failed`(
        mute: (word: String, why: String), isIsolated: Bool
    ) async throws {
        let hosted = try await Hosted(isIsolated)
        guard case .failure(let fault) = hosted.filter(["a", "b"], type: "mute.\(mute.word)")
        else {
            Issue.record("\(mute.word) was taken")
            return
        }
        #expect(fault.kind == .internal && fault.message.contains(mute.why), "\(fault)")
        #expect(hosted.services.faults.contains { $0.contains(mute.why) })
        // It may try again with less.
        let mended = try hosted.filter(["a", "b"], type: "mute.smaller").get()
        #expect(mended.parts.map(\.recipients) == [[0]])
        #expect(await hosted.instance.stop(deadlineMs: 5_000))
    }

    @Test func `the gateway knows the schema of its options, in any process`() async throws {
        let library = try PluginLibrary.load(try await Self.library.value)
        let schema = try #require(library.optionsSchemas["sbx.role.filter/1"])
        #expect(schema.contains("wait_ms"))
        #expect(library.optionsSchemas.count == 1)
        let described = PluginInspector.describe(library.descriptor.path)
        #expect(described.contains("wait_ms"))
    }
}
