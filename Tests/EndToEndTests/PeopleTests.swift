import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// What is stored about a person is shown to them and removed for them.
@Suite(.timeLimit(.minutes(5))) struct PeopleTests {
    private static let kinds = ["devices", "badges", "waiting", "dead_letters", "events"]

    private static func forget(_ rig: GatewayRig, _ body: String) async throws -> [Int64?] {
        let answer = try await PauseTests.order(rig, "/forget", body)
        #expect(answer.status == 200, "\(answer.json.text)")
        return kinds.map { answer.json["removed"]?[$0]?.integer }
    }

    private static func export(_ rig: GatewayRig, _ query: String) async throws -> JSONValue {
        let answer = try await rig.admin("/export?\(query)")
        #expect(answer.status == 200)
        return try JSONValue.parse(answer.body)
    }

    private static func count(_ json: JSONValue, _ key: String) -> Int {
        if case .array(let items)? = json[key] { items.count } else { -1 }
    }

    /// Ann has a dead letter and two deliveries that wait, one of them of an event that Bob gets, too.
    private static func rig(_ gateway: String = "") async throws -> RegistryRig {
        let rig = try await RegistryRig(gateway: gateway)
        try await rig.register("ann-7", "aaaaaaaa1")
        try await rig.register("joann-7", "bbbbbbbb2")
        _ = try await rig.call("PUT", "/v1/devices/badge", #"{"user":"ann-7","badge":3}"#)
        try await rig.rig.simulators.apns.take(
            .fail(tokens: ["aaaaaaaa1"], status: 400, reason: "BadPriority", times: nil))
        try await rig.notify(["ann-7"])
        await PauseTests.waitFor(waiting: 0, rig.rig.gateway)
        _ = try await DurabilityTests.dead(rig.rig, 1)
        try await rig.rig.simulators.apns.take(.clear)
        _ = try await PauseTests.order(rig.rig, "/pause", #"{"sender":"apns"}"#)
        try await rig.notify(["ann-7"])
        try await rig.notify(["ann-7", "joann-7"])
        await PauseTests.waitFor(waiting: 3, rig.rig.gateway)
        return rig
    }

    @Test func `a user is exported, forgotten and new afterwards, and others stay`() async throws {
        let rig = try await Self.rig()
        let before = try await Self.export(rig.rig, "user=ann-7")
        let counts = ["devices", "badges", "waiting", "dead_letters", "events"]
            .map { Self.count(before, $0) }
        #expect(counts == [1, 1, 2, 1, 3], "\(before.text)")
        #expect(before["devices"]?[0]?["token"]?.string == "aaaaaaaa1")
        #expect(before["dead_letters"]?[0]?["token"]?.string == "aaaaaaaa1")
        #expect(before["devices"]?[0]?["registered_time"]?.string?.hasSuffix("Z") == true)
        #expect(before["badges"]?[0]?["number"]?.integer ?? 0 >= 3)
        #expect(before["waiting"]?[0]?["title"]?.string == "Hello")
        #expect(!before.text.contains("joann-7") && !before.text.contains("bbbbbbbb2"))

        #expect(try await Self.forget(rig.rig, #"{"user":"ann-7","app":"x"}"#) == [0, 0, 0, 0, 0])
        #expect(try await rig.rig.admin("/export?usr=x").status == 400)
        let body = #"{"user":"ann-7","app":"\#(RegistryRig.app)"}"#
        #expect(try await Self.forget(rig.rig, body) == [1, 1, 2, 1, 3])
        #expect(try await Self.forget(rig.rig, #"{"user":"ann-7"}"#) == [0, 0, 0, 0, 0])
        let after = try await Self.export(rig.rig, "user=ann-7")
        #expect(counts.indices.map { Self.count(after, Self.kinds[$0]) } == [0, 0, 0, 0, 0])
        let other = try await Self.export(rig.rig, "user=joann-7")
        #expect(Self.kinds.map { Self.count(other, $0) } == [1, 0, 1, 0, 1], "\(other.text)")

        try await rig.register("ann-7", "cccccccc3")
        try await rig.notify(["ann-7"])
        _ = try await PauseTests.order(rig.rig, "/resume", #"{"sender":"apns"}"#)
        let taken = await rig.taken(2).map(\.token).sorted()
        #expect(taken == ["bbbbbbbb2", "cccccccc3"])
        await PauseTests.waitFor(waiting: 0, rig.rig.gateway)
        #expect(rig.rig.simulators.apns.received.count { $0.status == 200 } == 2)
        #expect(rig.rig.gateway.metricsText.contains(#"result="cancelled",reason="forgotten"} 2"#))
        // What ended the deliveries has left no trace of its own.
        let now = try await Self.export(rig.rig, "user=ann-7")
        #expect(Self.kinds.map { Self.count(now, $0) } == [1, 0, 0, 0, 1], "\(now.text)")
        #expect(rig.rig.log.all.filter { $0.contains("ann-7") } == [])
        #expect(rig.rig.log.all.contains { $0.contains("POST /forget") })
        #expect(rig.rig.log.all.contains { $0.contains("action=GET /export") })
        await rig.rig.end()
    }

    @Test func `what is forgotten stays so after a restart`() async throws {
        let rig = try await Self.rig()
        #expect(try await Self.forget(rig.rig, #"{"user":"ann-7"}"#)[2] == 2)
        await rig.rig.gateway.stop()
        let next = try await rig.rig.successor()
        // A pause outlives the process, too.
        #expect(next.metricsText.contains(#"signalbox_paused{kind="sender",name="apns"} 1"#))
        let resumed = try await PauseTests.order(
            rig.rig, "/resume", #"{"sender":"apns"}"#, to: next)
        #expect(resumed.status == 200)
        await PauseTests.waitFor(waiting: 0, next)
        #expect(await rig.taken(1).map(\.token) == ["bbbbbbbb2"])
        #expect(rig.rig.simulators.apns.received.count { $0.status == 200 } == 1)
        await next.stop()
        await rig.rig.end()
    }

    @Test func `what fails after its user was forgotten becomes no dead letter`() async throws {
        let rig = try await RegistryRig()
        try await rig.register("ann-7", "aaaaaaaa1")
        try await rig.rig.simulators.apns.take(.delay(ms: 3_000))
        try await rig.rig.simulators.apns.take(
            .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
        try await rig.notify(["ann-7"])
        _ = await rig.rig.simulators.apns.wait(for: 1)
        let answer = try await PauseTests.order(rig.rig, "/forget", #"{"user":"ann-7"}"#)
        #expect(answer.json["in_flight"]?.integer == 1, "\(answer.json.text)")
        await PauseTests.waitFor(waiting: 0, rig.rig.gateway)
        let dead = try await rig.rig.json("/dead")
        #expect(dead["count"]?.integer == 0, "\(dead.text)")
        await rig.rig.end()
    }

    @Test func `every gateway of a fleet forgets a user`() async throws {
        let database = try await PostgresServer.shared().database()
        func rig(_ name: String) async throws -> RegistryRig {
            try await RegistryRig(
                gateway: ", name: \(name), store: { postgres: \"\(database.address)\" }")
        }
        let (one, two) = (try await rig("one"), try await rig("two"))
        try await one.register("ann-7", "aaaaaaaa1")
        _ = try await PauseTests.order(one.rig, "/pause", #"{"sender":"apns"}"#)
        let paused = #"signalbox_paused{kind="sender",name="apns"} 1"#
        while !two.rig.gateway.metricsText.contains(paused) { await Task.yield() }
        for gateway in [one, two] { try await gateway.notify(["ann-7"]) }
        #expect(try await Self.forget(two.rig, #"{"user":"ann-7"}"#) == [1, 0, 2, 0, 2])
        #expect(try await Self.forget(two.rig, #"{"user":"ann-7"}"#) == [0, 0, 0, 0, 0])
        // A receiver that has this outcome has all earlier ones.
        _ = try await PauseTests.order(two.rig, "/resume", #"{"sender":"apns"}"#)
        while one.rig.gateway.waitingCount + two.rig.gateway.waitingCount > 0 {
            await Task.yield()
        }
        let cancelled = [one, two].reduce(0) { sum, gateway in
            let text = gateway.rig.gateway.metricsText
            let found = text.firstMatch(of: #/result="cancelled",reason="forgotten"} (\d+)/#)
            return sum + (found.flatMap { Int($0.output.1) } ?? 0)
        }
        #expect(cancelled == 2)
        for gateway in [one, two] { #expect(gateway.rig.simulators.apns.received.isEmpty) }
        await one.rig.end()
        await two.rig.end()
        try await database.remove()
    }

    @Test func `the commands export and forget`() async throws {
        let port = try OwnPort.take()
        let rig = try await RegistryRig(change: { _ = $0.setAdmin("127.0.0.1:\(port)") })
        try await rig.register("ann-7", "aaaaaaaa1")
        let file = rig.rig.folder.appending(path: "gateway.yaml").path
        func run(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(
                arguments + ["--config", file, "--admin", "127.0.0.1:\(port)"])
        }
        let export = try await run("export", "--user", "ann-7")
        #expect(export.status == 0, "\(export.text)")
        let json = try JSONValue.parse(Array(export.output.utf8))
        #expect(json["devices"]?[0]?["token"]?.string == "aaaaaaaa1")
        let forgotten = try await run("forget", "--user", "ann-7", "--app", RegistryRig.app)
        #expect(forgotten.output.hasPrefix("1 devices\n0 badge counters\n"), "\(forgotten.text)")
        let again = try await run("forget", "--user", "ann-7", "--json")
        #expect(again.output.contains(#""devices":0"#), "\(again.text)")
        #expect(try await run("forget", "--user", "").status == 64)
        await rig.rig.gateway.stop()
        let away = try await run("export", "--user", "ann-7")
        #expect(away.status == 1 && away.errors.contains("no gateway answers"), "\(away.text)")
        await rig.rig.end()
    }
}
