import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The page of metrics of a gateway that runs.
@Suite struct MetricTests {
    static func check(_ rig: GatewayRig) async throws {
        let file = rig.folder.appending(path: "metrics.txt")
        try Data(try await rig.admin("/metrics").body).write(to: file)
        let said = try await Tool.run(
            ["sh", "-c", "promtool check metrics < '\(file.path)'"])
        #expect(said.status == 0, "\(said.text)")
        #expect(said.text == "")
    }

    @Test func `promtool accepts the page, before and after deliveries, whose way is measured`()
        async throws
    {
        let rig = try await GatewayRig()
        try await Self.check(rig)
        let text = rig.metrics
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
        try await rig.post(GatewayRig.webhook([("ios", "a"), ("ios", "b"), ("android", "c")]))
        for line in [
            #"signalbox_accept_seconds_count{instance="z"} 1"#, "signalbox_commit_seconds_count 1",
            #"signalbox_requests_total{instance="z",status="200"} 1"#,
            #"signalbox_queue_wait_seconds_count{sender="apns"} 2"#,
            #"signalbox_provider_seconds_count{sender="apns"} 2"#,
            #"signalbox_delivery_seconds_count{sender="apns",result="delivered"} 2"#,
            #"signalbox_delivery_seconds_count{sender="fcm",result="delivered"} 1"#,
            #"signalbox_deliveries_total{route="replies",sender="apns",result="delivered",reason="ok"} 2"#,
        ] { try await OutageTests.expectMetric("\n\(line)\n", rig) }
        try await Self.check(rig)
        await rig.end()
    }

    @Test
    func
        `what the configuration makes known is 0 at the start and after a reload, the rest is gone`()
        async throws
    {
        let rig = try await GatewayRig()
        let text = rig.metrics
        for line in [
            #"signalbox_requests_total{instance="z",status="503"} 0"#,
            #"signalbox_events_total{source="z",result="unrouted"} 0"#,
            #"signalbox_deliveries_total{route="replies",sender="apns",result="delivered",reason="ok"} 0"#,
            #"signalbox_delivery_seconds_count{sender="fcm",result="failed"} 0"#,
            #"signalbox_sender_state{sender="apns",app="",state="sending"} 1"#,
            #"signalbox_sender_state{sender="apns",app="",state="down"} 0"#,
            #"signalbox_sender_held{sender="apns",app=""} 0"#,
            "signalbox_commit_seconds_count 0", "signalbox_store_faults_total 0",
            "signalbox_config_last_reload_successful 1",
        ] { #expect(text.contains("\n\(line)\n"), "\(line)") }
        // Another route, and one sender less.
        let yaml = GatewayRig.yaml(rig.simulators)
        let start = try #require(yaml.range(of: "  apns:"))
        let end = try #require(yaml.range(of: "  fcm:"))
        let without = yaml.replacingCharacters(in: start.lowerBound..<end.lowerBound, with: "")
        try await rig.gateway.reload(
            text: without.replacing("ios: apns, ", with: "").replacing(
                "name: replies", with: "name: other"))
        let line =
            #"signalbox_deliveries_total{route="other",sender="fcm",result="delivered",reason="ok"} 0"#
        #expect(rig.metrics.contains("\n\(line)\n"))
        #expect(!rig.metrics.contains("signalbox_sender_held{sender=\"apns\""))
        await #expect(throws: (any Error).self) { try await rig.gateway.reload(text: "x: 1") }
        #expect(rig.metrics.contains("\nsignalbox_config_last_reload_successful 0\n"))
        await rig.end()
    }
}
