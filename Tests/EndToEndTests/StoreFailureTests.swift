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
        let rig = try await GatewayRig()
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(
            path: rig.folder.appending(path: "data/signalbox.sqlite").path,
            configuration: configuration)
        for table in ["block", "flight", "counter"] {
            try await queue.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse_\(table) BEFORE INSERT ON \(table)
                        BEGIN SELECT RAISE(FAIL, 'not now'); END
                        """)
            }
        }
        for number in 0..<3 {
            let answer = try await rig.post(
                GatewayRig.webhook([("ios", "i\(number)")], ticket: "\(number)"))
            #expect(answer.status == 503)
        }
        let failing = try await rig.admin("/readyz")
        let readiness = try JSONValue.parse(failing.body)
        #expect(failing.status == 200 && readiness["status"]?.string == "degraded")
        #expect(readiness["reason"]?.string?.contains("writes to the database fail") == true)
        #expect(rig.metrics.contains("signalbox_store_failing 1"))
        #expect(rig.log.all.count { $0.contains("store failed to write") } == 1)
        try await queue.write { db in
            for table in ["block", "flight", "counter"] {
                try db.execute(sql: "DROP TRIGGER refuse_\(table)")
            }
        }
        try queue.close()
        // The store finds out by itself.
        try await OutageTests.expectMetric("signalbox_store_failing 0", rig)
        try await rig.post(GatewayRig.webhook([("ios", "later")], ticket: "later"))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["later"])
        await rig.end()
    }
}
