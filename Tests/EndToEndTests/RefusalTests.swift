import PluginRig
import Testing

/// Requests that a plugin refuses: anybody may send them.
@Suite struct RefusalTests {
    @Test func `a flood of refused requests is a few lines, and each is counted`() async throws {
        let rig = try await GatewayRig()
        for number in 0..<50 {
            let body = number < 40 ? "no JSON" : GatewayRig.webhook([("ios", "t\(number)")])
            let answer = try await rig.post(body)
            #expect(answer.status == (number < 40 ? 400 : 200))
        }
        let metric = #"signalbox_requests_total{instance="z",status="400"} "#
        #expect(rig.gateway.metricsText.contains(metric + "40"), "\(rig.gateway.metricsText)")
        await rig.end()
        let lines = rig.log.all.filter { $0.contains("request refused") }
        // The first, and the rest of each interval; the last when the gateway stops.
        #expect((2...10).contains(lines.count), "\(lines)")
        let counts = lines.compactMap {
            $0.firstMatch(of: /count=(\d+)/).flatMap { Int($0.output.1) }
        }
        #expect(counts.first == 1)
        #expect(counts.reduce(0, +) == 40)
        for line in lines {
            #expect(line.hasPrefix("warning request refused client=127.0.0.1 count="), "\(line)")
            #expect(
                line.contains("plugin.instance=z") && line.contains("reason=invalid"), "\(line)")
        }
    }
}
