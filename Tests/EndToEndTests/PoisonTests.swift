import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A delivery on which a plugin fails, among others in one batch.
@Suite(.timeLimit(.minutes(2))) struct PoisonTests {
    /// The project template for senders in C, which fails on one text as a careless author's does.
    private static let library = Task.detached {
        let template = PluginRig.root.appending(path: "Examples/templates/c/send-http/plugin.c")
        let source = try String(contentsOf: template, encoding: .utf8).replacing(
            "    sbx_out_reset(&body);\n",
            with: """
                    if (sbx_is(one->notification->body, "poison")) return sbx_fail(error, SBX_E_INTERNAL, "a bug");
                    sbx_out_reset(&body);

                """)
        let folder = try Workshop.folder()
        let file = folder.appending(path: "plugin.c")
        try source.write(to: file, atomically: true, encoding: .utf8)
        return try await PluginRig.compile(
            file: file.path, to: folder.appending(path: "libpoison.so").path)
    }

    @Test(arguments: ["", "isolation: process, "])
    func `its neighbours are sent, and it becomes a dead letter alone`(isolation: String)
        async throws
    {
        let library = try await Self.library.value
        let rig = try await GatewayRig(config: { simulators in
            """
            version: 1
            gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", drain: 5s, sources: [shop] }
            plugins:
              texts: { library: Texts }
              mine: { library: \(library), \(isolation)config: { endpoint: "\(simulators.provider.origin)", ca: "\(simulators.files.ca)" } }
            retry: { quick: { initial: 10ms, factor: 1, max: 10ms, retries: 3 } }
            routes:
              - { name: r, from: shop, build: { with: texts }, send: { web: mine }, deliver: { retry: quick } }
            """
        })
        let bodies = (1...9).map { $0 == 4 ? "poison" : "good \($0)" }
        let events = bodies.map { body in
            Event(
                type: "t", data: #"{"body":"\#(body)"}"#,
                recipients: [Recipient(device: Device(platform: "web", token: "t"))])
        }
        _ = try await rig.gateway.submit(events, from: "shop")
        let received = await rig.simulators.provider.wait(for: 8)
        #expect(
            Set(received.compactMap { $0.body["body"]?.string })
                == Set(bodies.filter { $0 != "poison" }))
        // The reasons are the plugin's words: only how each ended counts here.
        func ended(_ result: String) -> Int {
            rig.gateway.metricsText.split(separator: "\n").reduce(0) { sum, line in
                guard line.hasPrefix("signalbox_deliveries_total"),
                    line.contains("result=\"\(result)\"")
                else { return sum }
                return sum + (line.split(separator: " ").last.flatMap { Int($0) } ?? 0)
            }
        }
        try await until { ended("failed") + ended("delivered") >= 9 }
        #expect(ended("failed") == 1 && ended("delivered") == 8)
        await rig.end()
        #expect(rig.simulators.provider.received.count == 8)
    }

    /// A plugin in the gateway's process takes the gateway with it: its operator must know which.
    @Test(arguments: [
        ("__builtin_trap();", [-SIGILL, -SIGTRAP], "it crashed"),
        ("exit(0);", [70], "it was ended by exit()"),
        (
            "for (;;) { volatile char *room = __builtin_alloca(4096); *room = 1; }", [-SIGSEGV],
            "it crashed"
        ),
    ])
    func `a plugin that ends the gateway is named`(
        code: String, statuses: [Int32], words: String
    ) async throws {
        let template = PluginRig.root.appending(path: "Examples/templates/c/send-http/plugin.c")
        let source = try String(contentsOf: template, encoding: .utf8)
            .replacing("    sbx_out_reset(&body);\n", with: "    \(code)\n")
            .replacing(
                "#include <signalbox/kit.h>",
                with: "#include <signalbox/kit.h>\n#include <stdlib.h>")
        let folder = try Workshop.folder()
        let file = folder.appending(path: "plugin.c")
        try source.write(to: file, atomically: true, encoding: .utf8)
        let library = try await PluginRig.compile(
            file: file.path, to: folder.appending(path: "libtrap.so").path)
        let simulators = try await Simulators.start()
        let yaml = try ProgramTests.temporary(
            "gateway.yaml",
            """
            version: 1
            gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0" }
            plugins:
              z: { library: Zendesk, config: { path: /in/z } }
              mine: { library: \(library), config: { endpoint: "\(simulators.provider.origin)", ca: "\(simulators.files.ca)" } }
            routes:
              - { name: r, from: z, send: { ios: mine } }
            """)
        let (process, pipe, begin) = try await ProgramTests.serve(
            yaml, environment: ["SWIFT_BACKTRACE": "enable=no"])
        let port = try #require(begin.firstMatch(of: #/listen\.port=(\d+) /#)?.output.1)
        let client = try RESTClient()
        _ = try? await client.answer(
            RESTCall(
                method: "POST", url: "http://127.0.0.1:\(port)/in/z",
                body: Array(GatewayRig.webhook([("ios", "t1")]).utf8)))
        #expect(statuses.contains(try await Tool.end(process)))
        let log = try await begin + Tool.rest(pipe)
        #expect(
            log.contains("\(words) in a call of the plugin of the instance mine. With"), "\(log)")
        client.shutdown()
        await simulators.shutdown()
    }

    /// The project template for builders in C: the token "bad" makes it do as the code says.
    private static func builder(_ code: String) async throws -> String {
        let template = PluginRig.root.appending(path: "Examples/templates/c/build/plugin.c")
        let source = try String(contentsOf: template, encoding: .utf8).replacing(
            "  sbx_json_value root;\n  sbx_status status",
            with: """
                  if (sbx_is(input->recipients[0].device->token, "bad")) \(code)
                  sbx_json_value root;
                  sbx_status status
                """)
        let folder = try Workshop.folder()
        let file = folder.appending(path: "plugin.c")
        try source.write(to: file, atomically: true, encoding: .utf8)
        return try await PluginRig.compile(
            file: file.path, to: folder.appending(path: "libbuilder.so").path)
    }

    @Test func `an event that ends its builder's process each time need not be sent again`()
        async throws
    {
        let library = try await Self.builder("abort();")
        let rig = try await GatewayRig(
            change: { ($0.isolation.waitFirstMs, $0.isolation.waitMaxMs) = (1, 10) },
            config: { simulators in
                GatewayRig.plugins(simulators) + """

                      mine: { library: \(library), isolation: process }
                    routes:
                      - { name: r, from: z, build: { with: mine, set: { title: T } }, send: { ios: apns } }
                    """
            })
        var statuses: [UInt32] = []
        while statuses.last != 422, statuses.count < 2_000 {
            statuses.append(try await rig.post(GatewayRig.webhook([("ios", "bad")])).status)
        }
        #expect(statuses.last == 422 && statuses.dropLast().allSatisfy { $0 == 503 })
        #expect(statuses.count > 1)
        // From here on it is known.
        let answer = try await rig.post(GatewayRig.webhook([("ios", "bad")]))
        #expect(answer.status == 422)
        let words = "builder mine failed on this event"
        #expect(try JSONValue.parse(answer.body)["detail"]?.string == words)
        #expect(try await rig.insist(GatewayRig.webhook([("ios", "good")])).last == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["good"])
        await rig.end()
    }

    @Test func `a request that ends its plugin's process each time need not be sent again`()
        async throws
    {
        let rig = try await GatewayRig(try Saboteur())
        let poison = GatewayRig.webhook([("ios", "i")], ticket: "poisoned request")
        #expect(try await rig.insist(GatewayRig.webhook([("ios", "before")])).last == 200)
        var statuses: [UInt32] = []
        while statuses.last != 422, statuses.count < 2_000 {
            statuses.append(try await rig.post(poison).status)
        }
        #expect(statuses.last == 422 && statuses.dropLast().allSatisfy { $0 == 503 })
        #expect(try await rig.insist(GatewayRig.webhook([("ios", "after")])).last == 200)
        // From here on it is known, and nobody has to wait for it.
        #expect(try await rig.post(poison).status == 422)
        #expect(try await rig.post(GatewayRig.webhook([("ios", "last")])).status == 200)
        let sent = await rig.delivered(rig.simulators.apns, 3)
        #expect(Set(sent) == ["before", "after", "last"])
        await rig.end()
    }
}
