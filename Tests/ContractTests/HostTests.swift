import Foundation
import PluginRig
import SignalboxCore
import Testing

/// Hosts in C, compiled against other headers than their plugins.
@Suite struct HostTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        var host: Edition
        var plugin: Edition
        var testDescription: String {
            "host: \(host.testDescription), plugin: \(plugin.testDescription)"
        }
        static let all = Edition.all.flatMap { host in
            Edition.all.map { Pair(host: host, plugin: $0) }
        }
    }

    @Test(arguments: Pair.all)
    func `a host runs plugins of other minors`(pair: Pair) async throws {
        let (transcript, result) = try await Flow.contract.run(
            host: pair.host.host(), library: pair.plugin.plugin())
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(transcript.flow == (try Flow.expected()))
        let (plugin, host) = try (
            #require(transcript.pluginReach), #require(transcript.hostReach)
        )
        #expect(plugin.wrong == 0 && host.wrong == 0)
        if pair.host == pair.plugin { #expect(plugin.other == 0 && host.other == 0) }
        // The newer side looks for the newer fields, and finds them if the other side has them.
        let isBoth = pair.host.isNext && pair.plugin.isNext
        if pair.plugin.isNext { #expect((isBoth ? plugin.with : plugin.without) > 40) }
        if pair.host.isNext { #expect((isBoth ? host.with : host.without) > 40) }
        #expect((isBoth ? plugin.without : plugin.with) == 0)
        #expect((isBoth ? host.without : host.with) == 0)
    }

    @Test func `only a newer host takes a plugin that needs it`() async throws {
        let minor = try await Headers.next.value.minor()
        let library = try await Edition.next.plugin("-DNEEDS_MINOR=\(minor)")
        let old = try await Flow.contract.run(host: Edition.current.host(), library: library)
        #expect(old.result.status == 3)
        #expect(
            old.transcript.lines == [
                "refused: it needs contract 1.\(minor); this host has 1.\(minor - 1)"
            ])
        let new = try await Flow.contract.run(host: Edition.next.host(), library: library)
        #expect(new.transcript.flow == (try Flow.expected()))
    }

    /// Sides that ignore stride and struct_size, against the contract.
    struct Wrong: Sendable, CustomTestStringConvertible {
        var host: Edition
        var plugin: Edition
        var hostFlag = "-DRIGHT"
        var pluginFlag = "-DRIGHT"
        var testDescription: String { "host \(hostFlag), plugin \(pluginFlag)" }
        static let all = [
            Wrong(host: .next, plugin: .current, pluginFlag: "-DWRONG_STRIDE"),
            Wrong(host: .current, plugin: .next, pluginFlag: "-DWRONG_STRIDE"),
            Wrong(host: .current, plugin: .next, pluginFlag: "-DWRONG_SIZE"),
            Wrong(host: .current, plugin: .next, hostFlag: "-DWRONG_STRIDE"),
            Wrong(host: .next, plugin: .current, hostFlag: "-DWRONG_STRIDE"),
            Wrong(host: .next, plugin: .current, hostFlag: "-DWRONG_SIZE"),
        ]
    }

    @Test(arguments: Wrong.all)
    func `a side that reads too far is found out`(wrong: Wrong) async throws {
        let (transcript, result) = try await Flow.contract.run(
            host: wrong.host.host(wrong.hostFlag), library: wrong.plugin.plugin(wrong.pluginFlag))
        let isRight =
            try result.status == 0 && transcript.flow == Flow.expected()
            && transcript.pluginReach?.wrong == 0 && transcript.hostReach?.wrong == 0
        #expect(!isRight)
    }

    /// Zendesk's webhook through the bundled Swift plugins: one receives it, the other sends it.
    static let zendesk = Flow(
        path: "/in/z", pattern: "/in/z",
        config: #"{"path":"/in/z","sound":"default","deep_link_keys":["tid"],"#
            + #""api":{"endpoint":"https://z.example","email":"a@example.org","api_token":"api.api_token"}}"#,
        bodies: [
            #"{"devices":[{"identifier":"<0A1B>","type":"ios"},{"identifier":"ff00","type":"ios"},{}],"#
                + #""notification":{"title":"Agent replied","body":"Hello","ticket_id":5}}"#,
            #"{"notification":{}}"#,
        ], secrets: ["api.api_token"])

    @Test func `bundled plugins read no further than an older host's structs reach`() async throws {
        let libraries = try [
            (PluginRig.bundled("Zendesk"), Self.zendesk.config),
            (PluginRig.bundled("APNs"), Self.apns),
        ]
        let full = try await Self.zendesk.run(host: Edition.current.host(), libraries: libraries)
        let (transcript, result) = try await Self.zendesk.run(
            host: Edition.current.host("-DOLDER"), libraries: libraries)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        // The plugins do not use what is missing, so nothing else may differ.
        #expect(transcript.lines == full.transcript.lines)
    }

    /// A CloudEvent through the bundled Rust plugin.
    static let cloudEvents = Flow(
        path: "/in/ce", pattern: "/in/ce",
        config: #"{"path":"/in/ce","bearer":["bearer.0"],"webhook_origins":[],"recipients":"#
            + #"[{"each":"/devices","token":"/token","platform":"/platform","user":"","app":"",""#
            + #"provider":"","locale":""}]}"#,
        bodies: [
            #"{"specversion":"1.0","id":"A-1","source":"/shop","type":"com.example.sold","data":"#
                + #"{"title":"Sold","body":"Order 7","devices":[{"token":"t1","platform":"ios"},"#
                + #"{"token":"t2","platform":"android"}]}}"#, "{}",
        ], secrets: ["bearer.0"],
        headers: [
            Attribute("authorization", "Bearer value of bearer.0"),
            Attribute("content-type", "application/cloudevents+json"),
        ])

    @Test(arguments: Edition.all)
    func `a bundled plugin in Rust runs in a host in C`(edition: Edition) async throws {
        try await RustRig.plugins()
        let library = try PluginRig.bundled("CloudEvents")
        let (transcript, result) = try await Self.cloudEvents.run(
            host: edition.host(), library: library)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let same = try await Self.cloudEvents.run(library: library)
        #expect(transcript.flow == same.flow)
        #expect(transcript.lines.contains { $0.hasPrefix("event type=com.example.sold ") })
        #expect(transcript.lines.contains { $0.hasPrefix("content ") })
        #expect(transcript.lines.contains("target 1"))
        let reach = try #require(transcript.hostReach)
        #expect(reach.wrong == 0 && (reach.without > 8) == edition.isNext)
    }

    static let apns = """
        {"key":"key","team_id":"0123456789","key_id":"ABCDEFGHIJ","topic":"com.example.app",\
        "environment":"production","port":443}
        """

    @Test(arguments: Edition.all)
    func `bundled plugins in Swift run in a host in C`(edition: Edition) async throws {
        let zendesk = try PluginRig.bundled("Zendesk")
        let (transcript, result) = try await Self.zendesk.run(
            host: edition.host(),
            libraries: [
                (zendesk, Self.zendesk.config), (try PluginRig.bundled("APNs"), Self.apns),
            ])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let lines = transcript.flow
        let second = try #require(lines.firstIndex { $0.hasPrefix("plugin io.signalbox.apns") })
        // The current Swift host produces the same.
        let same = try await Self.zendesk.run(library: zendesk)
        #expect(Array(lines[..<second]) == same.flow)
        #expect(lines[..<second].contains { $0.hasPrefix("request POST /api/v2/push_notif") })
        // This host's signatures are 64 times "s".
        let login = "authorization:bearer "
        let pushes = lines[second...].filter { $0.hasPrefix("request ") }
        #expect(pushes.count == 2)
        for (push, token) in zip(pushes, ["0a1b", "ff00"]) {
            #expect(push.hasPrefix("request POST /3/device/\(token) headers=\(login)eyJ"))
            #expect(push.contains(".c3Nz"))
            #expect(push.contains(",apns-topic:com.example.app,apns-push-type:alert,"))
            #expect(
                push.contains(
                    #" body={"aps":{"alert":{"title":"Agent replied","body":"Hello"},"sound":"default"},"tid":"5"} "#
                ))
        }
        #expect(
            lines.contains("credential provider_token: refresh after 3000 s, expires after 3540 s"))
        let outcomes = lines[second...].filter { $0.hasPrefix("outcome ") }
        #expect(outcomes.count == 2)
        #expect(outcomes.first?.hasPrefix("outcome item=100 kind=1 ") == true)
        // A 410 without Apple's reason.
        #expect(outcomes.last?.hasPrefix("outcome item=101 kind=7 ") == true)
        let reach = try #require(transcript.hostReach)
        #expect(reach.wrong == 0 && reach.with == 0)
        #expect((reach.without > 20) == edition.isNext)
    }
}
