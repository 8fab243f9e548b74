import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

@Suite struct DurabilityTests {
    static func yaml(_ simulators: Simulators, retries: Int, timeoutMs: Int = 500) -> String {
        GatewayRig.plugins(simulators, timeoutMs: timeoutMs) + """

            retry: { few: { initial: 5ms, factor: 1, max: 10ms, retries: \(retries) } }
            routes:
              - name: replies
                from: z
                send: { ios: apns, android: fcm }
                deliver: { retry: few, expires: 1h, priority: normal }
            """
    }

    /// The dead letters, once there are `count` of them.
    static func dead(_ rig: GatewayRig, _ count: Int) async throws -> JSONValue {
        for _ in 0..<2_000 where try await rig.json("/dead")["count"]?.integer != Int64(count) {
            try await Task.sleep(for: .milliseconds(10))
        }
        // The list is read before it is counted.
        return try await rig.json("/dead")
    }

    @Test func `a failed delivery is on record with its attempts and can be replayed`() async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0, retries: 2) })
        try await rig.simulators.apns.take(
            .fail(tokens: ["token-12345"], status: 429, reason: "TooManyRequests", times: nil))
        try await rig.post(GatewayRig.webhook([("ios", "token-12345"), ("ios", "fine")]))
        let list = try await Self.dead(rig, 1)
        let letter = try #require(list["dead"]?[0])
        #expect(letter["reason"]?.string == "retries_exhausted")
        #expect(letter["route"]?.string == "replies" && letter["sender"]?.string == "apns")
        #expect(letter["token"]?.string == "…2345")
        #expect(letter["subject"]?.string == "ticket/5")
        let attempts = try #require(letter["attempts"]?.items)
        #expect(attempts.map { $0["number"]?.integer } == [1, 2, 3])
        #expect(attempts.allSatisfy { $0["code"]?.integer == 429 })
        let id = try #require(letter["id"]?.integer)
        #expect(try await rig.json("/dead/\(id)") == letter)
        // An empty filter selects nothing.
        #expect(try await PauseTests.order(rig, "/dead/purge", "{}").status == 400)

        try await rig.simulators.apns.take(.clear)
        let replayed = try await PauseTests.order(
            rig, "/dead/replay", #"{"reason":"retries_exhausted"}"#
        ).json
        #expect(replayed["count"]?.integer == 1)
        let pushes = await rig.simulators.apns.wait(for: 5)
        let ids = Set(
            pushes.filter { $0.token == "token-12345" }.compactMap { $0.header("apns-id") })
        #expect(ids == [letter["stable_id"]?.string ?? ""])
        #expect(pushes.last?.status == 200)
        #expect(try await Self.dead(rig, 0)["count"]?.integer == 0)
        await rig.end()
    }

    @Test func `the dead command works beside a running gateway and on a stopped one`() async throws
    {
        let simulators = try await Simulators.start()
        let file = try ProgramTests.temporary(
            "gateway.yaml",
            Self.yaml(simulators, retries: 0).replacing(
                "admin: \"127.0.0.1:0\"",
                with: "admin: \"127.0.0.1:\(try OwnPort.take())\", admin_token: \(AdminTests.token)"
            ))
        func dead(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(["dead", arguments[0], "--config", file] + arguments[1...])
        }
        try await simulators.apns.take(
            .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
        let running = try await CrashTests.start(file)
        let client = try RESTClient()
        for number in 0..<3 {
            let answer = try await client.post(
                [("ios", "tok-\(number)")], ticket: "\(number)", to: running.port)
            #expect(answer.status == 200)
        }
        var listed = try await dead("list")
        for _ in 0..<100 where !listed.text.contains("3 dead letters") {
            listed = try await dead("list")
        }
        #expect(listed.text.contains("3 dead letters"))
        #expect(!listed.text.contains("tok-0"))
        #expect(try await dead("list", "--count").output == "3 apns BadPriority\n")
        #expect(try await dead("list", "--count", "--sender", "fcm").output == "")
        let lines = try await dead("list", "--json").output.split(separator: "\n")
        let known = try #require(try JSONValue.parse(String(lines[0]))["id"]?.integer)
        #expect(try await dead("show", "\(known)").text.contains("BadPriority"))
        #expect(try await dead("show", "999999").text.contains("there is no dead letter 999999"))
        #expect(try await dead("purge", "\(known)").text.contains("1 forgotten"))
        running.process.terminate()
        try await Tool.end(running.process)
        let offline = try await dead("list", "--json", "--reason", "BadPriority")
        #expect(offline.status == 0 && offline.text.contains("2 dead letters"))
        let first = try JSONValue.parse(String(offline.output.split(separator: "\n")[0]))
        let id = try #require(first["id"]?.integer)
        #expect(try await dead("show", "\(id)").text.contains("\"reason\":\"BadPriority\""))
        #expect(try await dead("purge").status != 0)
        #expect(try await dead("purge", "\(id)").text.contains("1 forgotten"))
        #expect(try await dead("replay", "--all").text.contains("1 sent again"))
        // The next start sends it.
        try await simulators.apns.take(.clear)
        simulators.apns.forget()
        let again = try await CrashTests.start(file)
        #expect(await simulators.apns.wait(for: 1).map(\.status) == [200])
        again.process.terminate()
        try await Tool.end(again.process)
        client.shutdown()
        await simulators.shutdown()
    }

    @Test func `twenty thousand for a dead sender wait on disk and hold nobody up`() async throws {
        let rig = try await GatewayRig(timeoutMs: 200)
        try await rig.simulators.apns.take(.closeListener(cut: true))
        for batch in 0..<2 {
            let devices = (0..<10_000).map { (type: "ios", token: "i\(batch)-\($0)") }
            #expect(
                try await rig.post(GatewayRig.webhook(devices, ticket: "\(batch)")).status
                    == 200)
        }
        try await rig.post(GatewayRig.webhook([("android", "alive")], ticket: "x"))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["alive"])
        let ready = try await rig.json("/readyz")
        let waiting = try #require(ready["waiting"]?.integer)
        #expect(waiting > 19_000)
        let memory = try #require(ready["senders"]?[0]?["in_memory"]?.integer)
        #expect(memory <= 4_096)
        await rig.end()
    }

    @Test func `a full disk is answered 503, and taken up again when there is room`() async throws {
        // A database that may not grow stands for a full disk.
        let rig = try await GatewayRig(
            dataBytesMax: 600_000,
            config: {
                Self.yaml($0, retries: 100, timeoutMs: 500)
            })
        try await rig.simulators.fcm.take(.closeListener(cut: true))
        var taken: [String] = []
        var full: (refusal: RESTAnswer, metrics: String, readiness: RESTAnswer)?
        // On a slow machine there may be room again before the other questions are answered: then it is filled again.
        for number in 0..<2_000 where full == nil {
            let tokens = (0..<20).map { "t\(number)-\($0)" }
            let answer = try await rig.post(
                GatewayRig.webhook(tokens.map { ("android", $0) }, ticket: "\(number)"))
            guard answer.status != 200 else {
                taken += tokens
                continue
            }
            let readiness = try await rig.admin("/readyz")
            let metrics = rig.metrics
            if readiness.status == 503, metrics.contains("signalbox_disk_full 1") {
                full = (answer, metrics, readiness)
            }
        }
        let (answer, metrics, readiness) = try #require(full)
        #expect(answer.status == 503)
        #expect(answer.header("retry-after") == "1")
        #expect(!taken.isEmpty)
        #expect(metrics.contains(#"signalbox_requests_total{instance="z",status="503"}"#))
        // Answer, log, readiness and metric name the cause.
        #expect(String(decoding: answer.body, as: UTF8.self).contains("disk is full"))
        #expect(rig.log.all.contains { $0.contains("disk is full, rejecting events") })
        let said = try JSONValue.parse(readiness.body)
        #expect(said["status"]?.string == "disk_full")
        #expect(said["reason"]?.string?.contains("reserve") == true)
        #expect(said["disk"]?["reserve_bytes"]?.integer == 32 << 20)
        try await rig.simulators.fcm.take(.openListener)
        // Accepted events arrive, and the space that this frees is reused.
        // A request that took too long may have arrived all the same, so some arrive twice.
        var arrived: Set<String> = []
        for _ in 0..<6_000 where arrived.count < taken.count {
            arrived = Set(
                rig.simulators.fcm.received.filter { $0.status == 200 }.map(\.token))
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(arrived == Set(taken))
        // Also when nothing is in flight.
        var state: UInt32 = 0
        for _ in 0..<6_000 where state != 200 { state = try await rig.admin("/readyz").status }
        #expect(state == 200)
        #expect(rig.log.all.contains { $0.contains("disk has room again") })
        var status: UInt32 = 0
        for _ in 0..<500 where status != 200 {
            status = try await rig.post(
                GatewayRig.webhook([("android", "later")], ticket: "later")
            ).status
        }
        #expect(status == 200)
        await rig.end()
    }

    @Test func `a database file that is gone makes the gateway not ready, and it says so`()
        async throws
    {
        let clock = SharedClock()
        let rig = try await GatewayRig(clock: { clock.now })
        try FileManager.default.removeItem(
            at: rig.folder.appending(path: "data/signalbox.sqlite"))
        // It would be lost when the gateway stops.
        #expect(try await rig.post(GatewayRig.webhook([("ios", "a")])).status == 503)
        let answer = try await rig.admin("/readyz")
        #expect(answer.status == 503)
        #expect(try JSONValue.parse(answer.body)["status"]?.string == "database_gone")
        #expect(rig.gateway.metricsText.contains("signalbox_database_gone 1"))
        let line = try await OutageTests.line(rig, "database file is gone")
        #expect(line.hasPrefix("error") && line.contains("put the file back, or restart"))
        #expect(rig.simulators.apns.received.isEmpty)
        await rig.end()
    }
}
