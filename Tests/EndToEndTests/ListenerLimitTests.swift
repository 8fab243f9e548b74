import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import Testing

/// Bounds of the listeners, and the device registry's own one.
@Suite struct ListenerLimitTests {
    private static func rig(_ settings: String, _ more: String = "") async throws -> GatewayRig {
        try await GatewayRig(config: {
            GatewayRig.yaml($0)
                .replacing("drain: 5s", with: "drain: 5s, \(settings)") + more
        })
    }

    private static func devices(_ rig: GatewayRig, port: Int) async throws -> RESTAnswer {
        var call = RESTCall(method: "GET", url: "http://127.0.0.1:\(port)/v1/devices?user=u")
        call.headers = [Attribute("authorization", "Bearer token-of-the-crm-1")]
        return try await rig.client.patient(call)
    }

    private static let client =
        "clients: [ { name: crm, token: token-of-the-crm-1, app: com.a, scopes: [read] } ]"

    @Test func `the device registry has a listener of its own, and webhooks keep theirs`()
        async throws
    {
        let port = try OwnPort.take()
        let rig = try await Self.rig(
            "shutdown_delay: 0s", "\ndevices: { listen: \"127.0.0.1:\(port)\", \(Self.client) }")
        #expect(rig.gateway.devicesPort == port)
        #expect(try await Self.devices(rig, port: port).status == 200)
        #expect(try await Self.devices(rig, port: rig.gateway.port).status == 404)
        #expect(try await rig.client.post([("ios", "i")], to: port).status == 404)
        #expect(try await rig.post(GatewayRig.webhook([("ios", "i")])).status == 200)
        await rig.end()
    }

    @Test func `a source that sends too many is told when to come again, others are not`()
        async throws
    {
        let rig = try await Self.rig(
            "limits: { source_rate: 1 }", "\ndevices: { \(Self.client) }")
        var statuses: [UInt32] = []
        for number in 0..<200 where statuses.last != 429 {
            let body = GatewayRig.webhook([("ios", "i\(number)")], ticket: "\(number)")
            let answer = try await rig.post(body)
            statuses.append(answer.status)
            if answer.status == 429 { #expect(answer.header("retry-after") == "1") }
        }
        #expect(statuses.last == 429 && statuses.dropLast().allSatisfy { $0 == 200 })
        #expect(try await Self.devices(rig, port: rig.gateway.port).status == 200)
        let metric = #"signalbox_limit_reached_total{listener="listen",limit="source_rate"} "#
        #expect(rig.gateway.metricsText.contains(metric + "1"))
        let lines = rig.log.all.filter { $0.contains("a source sends too many requests") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("key=gateway.limits.source_rate") == true)
        // A reload lifts the limit.
        let text = try rig.text
        let report = try await rig.gateway.reload(text: text.replacing("source_rate: 1", with: ""))
        #expect(report.settings == ["limits"])
        for number in 0..<20 {
            let body = GatewayRig.webhook([("ios", "j\(number)")], ticket: "j\(number)")
            #expect(try await rig.post(body).status == 200)
        }
        await rig.end()
    }

    @Test func `a client address that sends too many is told so on every path but the operators'`()
        async throws
    {
        let rig = try await Self.rig("limits: { client_rate: 1 }")
        var status: UInt32 = 0
        for _ in 0..<200 where status != 429 {
            status = try await rig.post("", path: "/nowhere", method: "GET").status
        }
        #expect(status == 429)
        for _ in 0..<5 { #expect(try await rig.admin("/healthz").status == 200) }
        let metric = #"signalbox_limit_reached_total{listener="listen",limit="client_rate"} "#
        #expect(rig.gateway.metricsText.contains(metric))
        let line = rig.log.all.first { $0.contains("a client sends too many requests") }
        #expect(line?.contains("client=127.0.0.1") == true)
        #expect(line?.contains("key=gateway.limits.client_rate") == true)
        await rig.end()
    }

    @Test func `more connections than allowed close the one that was idle longest`() async throws {
        let rig = try await Self.rig("limits: { connections: 16 }")
        var clients: [RawClient] = []
        for _ in 0..<17 {
            let client = try RawClient(port: rig.gateway.port)
            client.send("GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n")
            _ = await client.read(until: "nothing is served")
            clients.append(client)
        }
        // The first has nothing more to read: it was closed.
        #expect(await clients[0].read().isEmpty)
        while !rig.gateway.metricsText.contains(#"signalbox_connections{listener="listen"} 16"#) {
            await Task.yield()
        }
        let text = rig.gateway.metricsText
        #expect(
            text.contains(
                #"signalbox_limit_reached_total{listener="listen",limit="connections"} 1"#))
        #expect(rig.log.all.contains { $0.contains("too many connections") })
        await rig.end()
    }
}
