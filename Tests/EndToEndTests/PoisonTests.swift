import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
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
        while ended("failed") + ended("delivered") < 9 {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(ended("failed") == 1 && ended("delivered") == 8)
        await rig.end()
        #expect(rig.simulators.provider.received.count == 8)
    }

    /// A plugin in the gateway's process takes the gateway with it: its operator must know which.
    @Test(arguments: [
        ("__builtin_trap();", [-SIGILL, -SIGTRAP], "it crashed"),
        ("exit(0);", [70], "it was ended by exit()"),
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
        let (process, pipe) = try ProgramTests.start(
            ["run", "--config", yaml], environment: ["SWIFT_BACKTRACE": "enable=no"])
        var log = ""
        while !log.contains("gateway is up") { log += try await Tool.next(pipe) }
        let port = try #require(log.firstMatch(of: #/listen\.port=(\d+) /#)?.output.1)
        let client = try RESTClient()
        _ = try? await client.answer(
            RESTCall(
                method: "POST", url: "http://127.0.0.1:\(port)/in/z",
                body: Array(GatewayRig.webhook([("ios", "t1")]).utf8)))
        #expect(statuses.contains(try await Tool.end(process)))
        while case let text = try await Tool.next(pipe), !text.isEmpty { log += text }
        #expect(
            log.contains("\(words) in a call of the plugin of the instance mine. With"), "\(log)")
        client.shutdown()
        await simulators.shutdown()
    }
}
