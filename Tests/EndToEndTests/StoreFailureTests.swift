import Foundation
import GRDB
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

@Suite struct StoreFailureTests {
    @Test func `a database that refuses writes degrades the gateway until it takes them again`()
        async throws
    {
        let bench = try await GatewayBench()
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(
            path: bench.folder.appending(path: "data/signalbox.sqlite").path,
            configuration: configuration)
        for table in ["block", "counter"] {
            try await queue.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse_\(table) BEFORE INSERT ON \(table)
                        BEGIN SELECT RAISE(FAIL, 'not now'); END
                        """)
            }
        }
        for number in 0..<3 {
            let answer = try await bench.post(
                GatewayBench.webhook([("ios", "i\(number)")], ticket: "\(number)"))
            #expect(answer.status == 503)
        }
        let failing = try await bench.admin("/readyz")
        let readiness = try JSONValue.parse(failing.body)
        #expect(failing.status == 200 && readiness["status"]?.string == "degraded")
        #expect(readiness["reason"]?.string?.contains("writes to the database fail") == true)
        var metrics = String(decoding: try await bench.admin("/metrics").body, as: UTF8.self)
        #expect(metrics.contains("signalbox_store_failing 1"))
        #expect(bench.log.all.count { $0.contains("store failed to write") } == 1)
        try await queue.write { db in
            try db.execute(sql: "DROP TRIGGER refuse_block; DROP TRIGGER refuse_counter")
        }
        try queue.close()
        // Nothing else is done here: the store finds out by itself.
        for _ in 0..<6_000 where metrics.contains("signalbox_store_failing 1") {
            metrics = String(decoding: try await bench.admin("/metrics").body, as: UTF8.self)
        }
        #expect(metrics.contains("signalbox_store_failing 0"))
        try await bench.post(GatewayBench.webhook([("ios", "later")], ticket: "later"))
        #expect(await bench.delivered(bench.simulators.apns, 1) == ["later"])
        await bench.gateway.stop()
        await bench.end()
    }
}
