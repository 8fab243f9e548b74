import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The page of metrics of a gateway that runs.
@Suite struct MetricTests {
    @Test func `promtool accepts the page, before and after deliveries`() async throws {
        let rig = try await GatewayRig()
        try await Self.check(rig)
        try await rig.post(GatewayRig.webhook([("ios", "a"), ("android", "b")]))
        _ = await rig.delivered(rig.simulators.apns, 1)
        try await OutageTests.expectMetric(
            #"signalbox_delivery_seconds_count{sender="fcm",result="delivered"} 1"#, rig)
        try await Self.check(rig)
        await rig.end()
    }

    static func check(_ rig: GatewayRig) async throws {
        let file = rig.folder.appending(path: "metrics.txt")
        try Data(try await rig.admin("/metrics").body).write(to: file)
        let said = try await Tool.run(
            ["sh", "-c", "promtool check metrics < '\(file.path)'"])
        #expect(said.status == 0, "\(said.text)")
        #expect(said.text == "")
    }

    @Test func `what the configuration makes known is 0 at the start and after a reload`()
        async throws
    {
        let rig = try await GatewayRig()
        let text = try await OutageTests.metrics(rig)
        for line in [
            #"signalbox_requests_total{instance="z",status="503"} 0"#,
            #"signalbox_events_total{source="z",result="unrouted"} 0"#,
            #"signalbox_deliveries_total{route="replies",sender="apns",result="delivered",reason="ok"} 0"#,
            #"signalbox_delivery_seconds_count{sender="fcm",result="failed"} 0"#,
            #"signalbox_sender_state{sender="apns",app="",state="sending"} 1"#,
            #"signalbox_sender_state{sender="apns",app="",state="down"} 0"#,
            "signalbox_commit_seconds_count 0", "signalbox_store_faults_total 0",
            "signalbox_config_last_reload_successful 1",
        ] { #expect(text.contains("\n\(line)\n"), "\(line)") }
        let yaml = GatewayRig.plugins(rig.simulators) + "\n" + GatewayRig.routes
        try await rig.gateway.reload(
            text: yaml.replacingOccurrences(of: "name: replies", with: "name: other"))
        let line =
            #"signalbox_deliveries_total{route="other",sender="fcm",result="delivered",reason="ok"} 0"#
        #expect(try await OutageTests.metrics(rig).contains("\n\(line)\n"))
        await #expect(throws: (any Error).self) { try await rig.gateway.reload(text: "x: 1") }
        #expect(
            try await OutageTests.metrics(rig).contains(
                "\nsignalbox_config_last_reload_successful 0\n"))
        await rig.end()
    }

    @Test func `each part of a delivery's way is measured`() async throws {
        let rig = try await GatewayRig()
        try await rig.post(GatewayRig.webhook([("ios", "a"), ("ios", "b")]))
        _ = await rig.delivered(rig.simulators.apns, 2)
        for line in [
            #"signalbox_accept_seconds_count{instance="z"} 1"#, "signalbox_commit_seconds_count 1",
            #"signalbox_queue_wait_seconds_count{sender="apns"} 2"#,
            #"signalbox_provider_seconds_count{sender="apns"} 2"#,
            #"signalbox_delivery_seconds_count{sender="apns",result="delivered"} 2"#,
        ] { try await OutageTests.expectMetric("\n\(line)\n", rig) }
        await rig.end()
    }

    @Test func `the page says how the process and its disk are`() async throws {
        let rig = try await GatewayRig()
        let text = try await OutageTests.metrics(rig)
        func value(_ name: String) throws -> Double {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(name) ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
        }
        let now = Date().timeIntervalSince1970
        let start = try value("process_start_time_seconds")
        #expect(start <= now + 1 && start > now - 86_400)
        #expect(try value("process_cpu_seconds_total") > 0)
        #expect(try value("process_resident_memory_bytes") > 1e6)
        #expect(try value("process_open_fds") > 10)
        #expect(try value("process_max_fds") >= value("process_open_fds"))
        #expect(try value("signalbox_disk_free_bytes") > 0)
        #expect(try value("signalbox_disk_reserve_bytes") == 33_554_432)
        #expect(try value("signalbox_config_last_reload_success_timestamp_seconds") > now - 86_400)
        await rig.end()
    }

    @Test func `a lane that is gone is no longer on the page`() async throws {
        let rig = try await GatewayRig()
        let apns = #"signalbox_sender_held{sender="apns",app=""} 0"#
        #expect(try await OutageTests.metrics(rig).contains(apns))
        let yaml = GatewayRig.plugins(rig.simulators) + "\n" + GatewayRig.routes
        let start = try #require(yaml.range(of: "  apns:"))
        let end = try #require(yaml.range(of: "  fcm:"))
        let without = yaml.replacingCharacters(in: start.lowerBound..<end.lowerBound, with: "")
            .replacingOccurrences(of: "ios: apns, ", with: "")
        try await rig.gateway.reload(text: without)
        let held = "signalbox_sender_held{sender=\"apns\""
        #expect(!(try await OutageTests.metrics(rig).contains(held)))
        await rig.end()
    }
}
