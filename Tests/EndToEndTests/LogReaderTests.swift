import Foundation
import PluginRig
import SignalboxSimulators
import Testing

/// Who reads the log of a program may stop reading.
@Suite struct LogReaderTests {
    @Test func `a log reader that blocks stops neither webhooks nor pushes nor the end`()
        async throws
    {
        let simulators = try await Simulators.start()
        let yaml = GatewayRig.yaml(simulators)
        let (process, pipe, log) = try await ProgramTests.serve(
            ProgramTests.temporary("gateway.yaml", yaml))
        let port = try #require(log.firstMatch(of: /listen\.port=(\d+)/)?.output.1)
        // A line each, four times what a pipe holds; nobody reads from here on.
        let count = 1_000
        let devices = (0..<count).map { (type: "ios", token: "t\($0)") }
        let body = try ProgramTests.temporary("body.json", GatewayRig.webhook(devices))
        for _ in 0..<2 {
            let answer = try await Tool.output([
                "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "@\(body)",
                "http://127.0.0.1:\(port)/in/z",
            ])
            #expect(answer == "200")
        }
        let sent = await simulators.apns.wait(for: count, timeoutMs: 120_000)
        #expect(Set(sent.map(\.token)).count == count)
        process.terminate()
        #expect(try await Tool.end(process) == 0)
        // The pipe has the beginning.
        #expect(try await Tool.rest(pipe).contains("delivered"))
        await simulators.shutdown()
    }
}
