import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import Synchronization
import Testing

/// A plugin that does not answer, in its own process or in the gateway's.
@Suite(.timeLimit(.minutes(2))) struct StuckPluginTests {
    /// The project template for builders in C, which waits until there is a file.
    private static func library(until file: URL) async throws -> String {
        let template = PluginRig.root.appending(path: "Examples/templates/c/build/plugin.c")
        let source = try String(contentsOf: template, encoding: .utf8)
            .replacing(
                "  sbx_json_value root;\n  sbx_status status",
                with:
                    "  while (access(\"\(file.path)\", F_OK)) usleep(1000);\n  sbx_json_value root;\n  sbx_status status"
            ).replacing(
                "#include <signalbox/kit.h>",
                with: "#include <signalbox/kit.h>\n#include <unistd.h>")
        let folder = try Workshop.folder()
        let file = folder.appending(path: "plugin.c")
        try source.write(to: file, atomically: true, encoding: .utf8)
        return try await PluginRig.compile(
            file: file.path, to: folder.appending(path: "libstuck.so").path)
    }

    private struct Ends {
        var refused = 0
        var others: [String] = []
    }

    @Test(arguments: ["process", "none"])
    func `it holds up no other route, and not more than a few of its own events`(
        isolation: String
    ) async throws {
        let end = try Workshop.folder().appending(path: "end")
        let library = try await Self.library(until: end)
        let rig = try await GatewayRig(
            change: { $0.isolation.workMs = 30_000 },
            config: { simulators in
                GatewayRig.plugins(simulators).replacing(
                    "drain: 5s", with: "drain: 1s, sources: [shop]"
                ) + """

                      texts: { library: Texts }
                      stuck: { library: \(library), isolation: \(isolation) }
                    routes:
                      - { name: stuck, from: shop, when: { type: stuck }, build: { with: stuck }, send: { ios: apns } }
                      - { name: good, from: shop, when: { type: good }, build: { with: texts }, send: { ios: apns } }
                    """
            })
        func event(_ type: String) -> Event {
            Event(
                type: type, data: #"{"body":"b"}"#,
                recipients: [Recipient(device: Device(platform: "ios", token: "t"))])
        }
        let ends = Mutex(Ends())
        for _ in 0..<200 {
            try rig.gateway.submit([event("stuck")], from: "shop") { result in
                ends.withLock { ends in
                    switch result {
                    case .failure(let fault) where fault.message.contains("stuck is unavailable"):
                        ends.refused += 1
                    case .failure(let fault): ends.others.append(fault.message)
                    case .success: ends.others.append("taken")
                    }
                }
            }
        }
        #expect(try await rig.gateway.submit([event("good")], from: "shop").count == 1)
        let found = ends.withLock { $0 }
        // Those that were refused need not wait; the rest still waits for the plugin.
        #expect(found.refused > 100, "\(found)")
        #expect(found.refused < 200, "all of them had ended: the plugin's process was restarted")
        #expect(found.others.isEmpty)
        #expect(rig.log.all.count { $0.contains("builder is unavailable") } == 1)
        // While it still waits, it is named.
        while !rig.log.all.contains(where: { $0.contains("takes over a second") }) {
            await Task.yield()
        }
        let line = try #require(rig.log.all.first { $0.contains("takes over a second") })
        for part in ["stuck", "build", "build()"] { #expect(line.contains(part), "\(line)") }
        let metrics = rig.gateway.metricsText
        #expect(
            metrics.contains(
                #"signalbox_slow_calls_total{instance="stuck",role="build",call="build()"}"#))
        #expect(FileManager.default.createFile(atPath: end.path, contents: nil))
        await rig.end()
    }
}
