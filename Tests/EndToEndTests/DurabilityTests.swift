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

    static func adminJSON(
        _ rig: GatewayRig, _ method: String, _ path: String, _ body: String = ""
    ) async throws -> JSONValue {
        let port = try #require(rig.gateway.adminPort)
        var call = RESTCall(
            method: method, url: "http://127.0.0.1:\(port)\(path)", body: Array(body.utf8))
        call.headers = [Attribute("content-type", "application/json")]
        let answer = try await rig.client.patient(call)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try JSONValue.parse(answer.body)
    }

    /// The dead letters, once there are `count` of them.
    static func dead(_ rig: GatewayRig, _ count: Int) async throws -> JSONValue {
        for _ in 0..<2_000 {
            let json = try await adminJSON(rig, "GET", "/dead")
            // The list is read before it is counted.
            if json["count"]?.integer == Int64(count) {
                return try await adminJSON(rig, "GET", "/dead")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return try await adminJSON(rig, "GET", "/dead")
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
        guard case .array(let attempts) = letter["attempts"] else {
            Issue.record("no attempts")
            return
        }
        #expect(attempts.map { $0["number"]?.integer } == [1, 2, 3])
        #expect(attempts.allSatisfy { $0["code"]?.integer == 429 })
        let id = try #require(letter["id"]?.integer)
        #expect(try await Self.adminJSON(rig, "GET", "/dead/\(id)") == letter)
        // An empty filter selects nothing.
        let port = try #require(rig.gateway.adminPort)
        var nothing = RESTCall(
            method: "POST", url: "http://127.0.0.1:\(port)/dead/purge", body: Array("{}".utf8))
        nothing.headers = [Attribute("content-type", "application/json")]
        let slip = try await rig.client.patient(nothing)
        #expect(slip.status == 400)

        try await rig.simulators.apns.take(.clear)
        let replayed = try await Self.adminJSON(
            rig, "POST", "/dead/replay", #"{"reason":"retries_exhausted"}"#)
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
            Self.yaml(simulators, retries: 0).replacingOccurrences(
                of: "admin: \"127.0.0.1:0\"", with: "admin: \"127.0.0.1:\(try OwnPort.take())\""))
        try await simulators.apns.take(
            .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
        let running = try await CrashTests.start(file)
        let client = try RESTClient()
        for number in 0..<3 {
            let call = RESTCall(
                method: "POST", url: "http://127.0.0.1:\(running.port)/in/z",
                body: Array(
                    GatewayRig.webhook([("ios", "tok-\(number)")], ticket: "\(number)").utf8))
            #expect(try await client.patient(call).status == 200)
        }
        var listed = try await ProgramTests.run(["dead", "list", "--config", file])
        for _ in 0..<100 where !listed.text.contains("3 dead letters") {
            listed = try await ProgramTests.run(["dead", "list", "--config", file])
        }
        #expect(listed.text.contains("3 dead letters"))
        #expect(!listed.text.contains("tok-0"))
        running.process.terminate()
        try await Tool.end(running.process)
        let offline = try await ProgramTests.run([
            "dead", "list", "--json", "--config", file, "--reason", "BadPriority",
        ])
        #expect(offline.status == 0 && offline.text.contains("3 dead letters"))
        let first = try JSONValue.parse(String(offline.output.split(separator: "\n")[0]))
        let id = try #require(first["id"]?.integer)
        let shown = try await ProgramTests.run(["dead", "show", "--config", file, "\(id)"])
        #expect(shown.text.contains("\"reason\":\"BadPriority\""))
        let purged = try await ProgramTests.run(["dead", "purge", "--config", file, "\(id)"])
        #expect(purged.text.contains("1 forgotten"))
        let replayed = try await ProgramTests.run(["dead", "replay", "--config", file, "--all"])
        #expect(replayed.text.contains("2 sent again"))
        #expect(try await ProgramTests.run(["dead", "purge", "--config", file]).status != 0)
        // The next start sends them.
        try await simulators.apns.take(.clear)
        simulators.apns.forget()
        let again = try await CrashTests.start(file)
        let pushes = await simulators.apns.wait(for: 2)
        #expect(pushes.map(\.status) == [200, 200])
        again.process.terminate()
        try await Tool.end(again.process)
        client.shutdown()
        await simulators.shutdown()
    }

    @Test func `the same webhook again is answered and not sent`() async throws {
        let rig = try await GatewayRig()
        let body = GatewayRig.webhook([("ios", "a")])
        for _ in 0..<3 { #expect(try await rig.post(body).status == 200) }
        #expect(try await rig.post(GatewayRig.webhook([("ios", "b")])).status == 200)
        #expect(Set(await rig.delivered(rig.simulators.apns, 2)) == ["a", "b"])
        let metrics = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
        #expect(metrics.contains(#"signalbox_events_total{source="z",result="duplicate"} 2"#))
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.count == 2)
        await rig.end()
    }

    @Test func `a provider that is down for longer than all retries costs nothing but time`()
        async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0, retries: 2, timeoutMs: 100) })
        try await rig.simulators.apns.take(.closeListener(cut: true))
        let tokens = (0..<60).map { "i\($0)" }
        try await rig.post(GatewayRig.webhook(tokens.map { ("ios", $0) }))
        // The first ones use up their attempts before the breaker opens; the others wait.
        var dead = 0
        for _ in 0..<300 where dead == 0 {
            dead = Int(try await Self.adminJSON(rig, "GET", "/dead")["count"]?.integer ?? 0)
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(rig.log.all.contains { $0.contains("provider seems to be down") })
        try await rig.simulators.apns.take(.openListener)
        // Replays while there is something to replay, until all have arrived. A push whose answer
        // took too long arrived, too, and is dead again.
        var arrived: Set<String> = []
        var left: Int64 = 1
        for _ in 0..<1_200 where arrived.count < tokens.count || left > 0 {
            _ = try await Self.adminJSON(rig, "POST", "/dead/replay", #"{"all":true}"#)
            try await Task.sleep(for: .milliseconds(50))
            arrived = Set(
                rig.simulators.apns.received.filter { $0.status == 200 }.map(\.token))
            left = try await Self.adminJSON(rig, "GET", "/dead")["count"]?.integer ?? 1
        }
        #expect(arrived == Set(tokens))
        #expect(left == 0)
        await rig.end()
    }

    @Test func `a slow provider slows its own lane alone`() async throws {
        let rig = try await GatewayRig(timeoutMs: 20_000)
        try await rig.simulators.apns.take(.delay(ms: 1_500))
        let start = Date()
        try await rig.post(
            GatewayRig.webhook((0..<50).flatMap { [("ios", "i\($0)"), ("android", "a\($0)")] }))
        #expect(await rig.delivered(rig.simulators.fcm, 50).count == 50)
        let fcm = Date().timeIntervalSince(start)
        #expect(await rig.delivered(rig.simulators.apns, 50).count == 50)
        await rig.gateway.stop()
        let apns = Date().timeIntervalSince(start)
        #expect(apns > 1.5 && fcm < apns, "FCM took \(fcm) s, APNs \(apns) s")
        await rig.end()
    }

    @Test func `a hundred thousand for a dead sender wait on disk and hold nobody up`() async throws
    {
        let rig = try await GatewayRig(timeoutMs: 200)
        try await rig.simulators.apns.take(.closeListener(cut: true))
        for batch in 0..<10 {
            let devices = (0..<10_000).map { (type: "ios", token: "i\(batch)-\($0)") }
            #expect(
                try await rig.post(GatewayRig.webhook(devices, ticket: "\(batch)")).status
                    == 200)
        }
        try await rig.post(GatewayRig.webhook([("android", "alive")], ticket: "x"))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["alive"])
        let ready = try JSONValue.parse(try await rig.admin("/readyz").body)
        let waiting = try #require(ready["waiting"]?.integer)
        #expect(waiting > 99_000)
        let memory = try #require(ready["senders"]?[0]?["in_memory"]?.integer)
        #expect(memory <= 4_096)
        await rig.gateway.stop()
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
            let metrics = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
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
        // Also once nothing is being sent any more.
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
