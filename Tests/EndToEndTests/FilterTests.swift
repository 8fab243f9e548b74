import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import Signalbox

/// Filters of routes, in a whole gateway.
@Suite struct FilterTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Filter/by-token.c")
    }

    /// The configuration of `GatewayRig`, with a filter that has the device `late` wait.
    private static func rig(waitMs: Int, isolation: String = "none") async throws -> GatewayRig {
        let library = try await library.value
        return try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators) + "\n"
                + "  f: { library: \(library), isolation: \(isolation) }\n"
                + GatewayRig.routes.replacing(
                    "from: z",
                    with: """
                        from: z
                            filter: [{ with: f, options: { wait_ms: \(waitMs) } }]
                            build: { set: { title: '{{ title | default: "T" }}' } }
                        """)
        })
    }

    private static func recipients(_ rig: GatewayRig) async throws -> [String: JSONValue] {
        let trace = try await rig.json("/trace?subject=ticket/5")
        var out: [String: JSONValue] = [:]
        guard case .array(let items)? = trace["events"]?[0]?["recipients"] else { return [:] }
        for item in items { out[item["token"]?.string ?? ""] = item }
        return out
    }

    @Test func `a push that waits is sent at its time, and one that is left out never`()
        async throws
    {
        let rig = try await Self.rig(waitMs: 2_000, isolation: "process")
        let start = UInt64(Date().timeIntervalSince1970 * 1_000)
        let answer = try await rig.post(
            GatewayRig.webhook([
                ("ios", "a-device-late"), ("ios", "a-device-dropped"), ("ios", "other"),
            ]))
        #expect(answer.status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 2).sorted() == ["a-device-late", "other"])
        #expect(UInt64(Date().timeIntervalSince1970 * 1_000) >= start + 2_000)
        let seen = await rig.simulators.apns.wait(for: 2, timeoutMs: 1_000)
        for push in seen {
            let title = push.body["aps"]?["alert"]?["title"]?.string
            #expect(title == (push.token == "other" ? "T" : "of the filter"))
        }
        var found: [String: JSONValue] = [:]
        try #require(try await Self.recipients(rig)["…late"] != nil)
        while found["…late"]?["state"]?.string != "delivered" {
            found = try await Self.recipients(rig)
            try await Task.sleep(for: .milliseconds(20))
        }
        let late = try #require(found["…late"])
        let notBefore = UInt64(clamping: late["not_before_unix_ms"]?.integer ?? 0)
        #expect(notBefore >= start + 2_000)
        #expect(UInt64(clamping: late["steps"]?[0]?["unix_ms"]?.integer ?? 0) >= notBefore)
        let dropped = try #require(found["…pped"])
        #expect(dropped["state"]?.string == "skipped" && dropped["reason"]?.string == "named_so")
        let metrics = rig.metrics
        let skipped = #"recipients_skipped_total{route="replies",reason="named_so"} 1"#
        #expect(metrics.contains(skipped))
        await rig.end()
    }

    @Test func `explain says who is left out and who waits`() async throws {
        let rig = try await Self.rig(waitMs: 3_600_000)
        let file = rig.folder.appending(path: "gateway.yaml").path
        let body = try ProgramTests.temporary(
            "body.json",
            GatewayRig.webhook([("ios", "a-device-late"), ("ios", "a-device-dropped")]))
        let said = try await ProgramTests.run([
            "explain", body, "--webhook", "z", "--config", file, "--now", "2026-01-02T12:00:00Z",
        ])
        #expect(said.text.contains("not before 2026-01-0"), "\(said.text)")
        #expect(said.text.contains("named_so"))
        let graph = try await ProgramTests.run(["graph", "--config", file])
        #expect(graph.text.contains("filter: f"))
        await rig.end()
    }
}
