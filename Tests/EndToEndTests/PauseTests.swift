import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Synchronization
import Testing

/// Operators pause senders and routes, and resume them.
@Suite struct PauseTests {
    static func order(
        _ rig: GatewayRig, _ path: String, _ body: String, to gateway: Gateway? = nil
    ) async throws -> (status: UInt32, json: JSONValue) {
        let port = try #require((gateway ?? rig.gateway).adminPort)
        var call = RESTCall(
            method: "POST", url: "http://127.0.0.1:\(port)\(path)", body: Array(body.utf8))
        call.headers = [Attribute("content-type", "application/json")]
        let answer = try await rig.client.patient(call)
        return (answer.status, try JSONValue.parse(answer.body))
    }

    /// Waits until so many deliveries are in the store.
    static func waitFor(waiting count: Int, _ gateway: Gateway) async {
        while gateway.waitingCount != count { await Task.yield() }
    }

    @Test func `a paused sender's deliveries wait, and follow when it is resumed`() async throws {
        let rig = try await GatewayRig()
        let paused = try await Self.order(
            rig, "/pause", #"{"sender":"apns","by":"anna","reason":"wrong text"}"#)
        #expect(paused.status == 200 && paused.json["changed"] == .bool(true))
        for number in 1...3 {
            let body = GatewayRig.webhook([("ios", "i\(number)"), ("android", "a\(number)")])
            #expect(try await rig.post(body).status == 200)
        }
        #expect(await rig.delivered(rig.simulators.fcm, 3).count == 3)
        await Self.waitFor(waiting: 3, rig.gateway)
        #expect(rig.simulators.apns.received.isEmpty)
        let ready = try await rig.json("/readyz")
        #expect(ready["status"]?.string == "ready")
        guard case .array(let senders)? = ready["senders"], case .array(let all)? = ready["paused"]
        else { return #expect(Bool(false)) }
        let states = senders.map { "\($0["sender"]?.string ?? "") \($0["state"]?.string ?? "")" }
        #expect(states.contains("apns paused"))
        let row = senders.first { $0["sender"]?.string == "apns" }
        #expect(row?["reason"]?.string == "by anna (127.0.0.1): wrong text")
        #expect(row?["paused_since_unix_ms"] == all.first?["since_unix_ms"])
        #expect(all.first?["address"]?.string == "127.0.0.1")
        #expect(all.first?["sender"]?.string == "apns" && all.first?["by"]?.string == "anna")
        #expect((all.first?["since_unix_ms"]?.integer ?? 0) > 1_000_000_000_000)
        #expect(rig.metrics.contains(#"signalbox_paused{kind="sender",name="apns"} 1"#))
        #expect(
            rig.metrics.contains(
                #"signalbox_sender_state{sender="apns",app="",state="paused"} 1"#))
        #expect(
            rig.metrics.contains(
                #"signalbox_paused_seconds{kind="sender",name="apns"} "#))
        let again = try await Self.order(rig, "/pause", #"{"sender":"apns","by":"ben"}"#)
        #expect(again.json["changed"] == .bool(false))
        #expect(try await Self.order(rig, "/resume", #"{"sender":"apns"}"#).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 3) == ["i1", "i2", "i3"])
        #expect(rig.metrics.contains(#"signalbox_paused{kind="sender",name="apns"} 0"#))
        let lines = rig.log.all.filter { $0.contains(" paused, its") || $0.contains(" resumed ") }
        #expect(lines.count == 2, "\(lines)")
        await rig.end()
    }

    @Test func `a paused route waits while others of the same sender go on`() async throws {
        let now = Atomic(UInt64(Date.now.timeIntervalSince1970 * 1_000))
        let second =
            "\n  - { name: second, from: y, when: { type: ticket.replied }, send: { ios: apns } }"
        let rig = try await GatewayRig(
            clock: { now.load(ordering: .relaxed) },
            config: { simulators in
                (GatewayRig.yaml(simulators) + second).replacing(
                    "  z: {", with: "  y: { library: Zendesk, config: { path: /in/y } }\n  z: {")
            })
        #expect(try await Self.order(rig, "/pause", #"{"route":"replies"}"#).status == 200)
        try await rig.post(GatewayRig.webhook([("ios", "late")], ticket: "1"))
        try await rig.post(GatewayRig.webhook([("ios", "slow")], ticket: "2"))
        try await rig.post(GatewayRig.webhook([("ios", "fast")], ticket: "3"), path: "/in/y")
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["fast"])
        await Self.waitFor(waiting: 2, rig.gateway)
        #expect(try await Self.order(rig, "/resume", #"{"route":"replies"}"#).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 3).sorted() == ["fast", "late", "slow"])
        // A delivery that has expired meanwhile is not sent; its history says that it was paused.
        #expect(try await Self.order(rig, "/pause", #"{"sender":"apns"}"#).status == 200)
        try await rig.post(GatewayRig.webhook([("ios", "old")], ticket: "4"))
        await Self.waitFor(waiting: 1, rig.gateway)
        let waits = try await rig.json("/trace?subject=ticket/4")
        let held = waits["events"]?[0]?["recipients"]?[0]?["held"]?[0]
        #expect(held?["cause"]?.string == "paused" && held?["sender"]?.string == "apns")
        #expect(held?["by"]?.string == "admin (127.0.0.1)")
        now.add(2 * 3_600_000, ordering: .relaxed)
        #expect(try await Self.order(rig, "/resume", #"{"sender":"apns"}"#).status == 200)
        await Self.waitFor(waiting: 0, rig.gateway)
        #expect(rig.log.all.contains { $0.contains("delivery failed") && $0.contains("expired") })
        let line = rig.log.all.first { $0.contains("delivery failed") } ?? ""
        #expect(line.contains("held 2 h 0 min, paused by admin (127.0.0.1)"), "\(line)")
        #expect(rig.simulators.apns.received.count == 3)
        await rig.end()
    }

    @Test func `what a reload took away can be resumed`() async throws {
        let rig = try await GatewayRig()
        #expect(try await Self.order(rig, "/pause", #"{"sender":"fcm"}"#).status == 200)
        let text = GatewayRig.yaml(rig.simulators)
        let cut = try #require(text.range(of: "  fcm:"))
        let end = try #require(text.range(of: "\nretry:"))
        let without = text.replacingCharacters(in: cut.lowerBound..<end.lowerBound, with: "")
            .replacing(", android: fcm", with: "")
        _ = try await rig.gateway.reload(text: without)
        let resumed = try await Self.order(rig, "/resume", #"{"sender":"fcm","by":"carl"}"#)
        #expect(resumed.json["changed"] == .bool(true))
        let line = rig.log.all.first { $0.contains("resumed") } ?? ""
        #expect(line.contains("carl") && line.contains("127.0.0.1"), "\(line)")
        #expect(try await rig.admin("/paused").body == Array("{\"paused\":[]}\n".utf8))
        await rig.end()
    }

    @Test func `the commands pause, list and resume`() async throws {
        let port = try OwnPort.take()
        let rig = try await GatewayRig(config: { AdminTests.config($0, "", "127.0.0.1:\(port)") })
        let file = rig.folder.appending(path: "gateway.yaml").path
        func run(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(
                arguments + ["--config", file], environment: ["SUDO_USER": "anna"])
        }
        #expect(try await run("pause").output == "nothing is paused\n")
        let paused = try await run("pause", "--sender", "apns", "--reason", "wrong text")
        #expect(paused.output == "sender apns is paused, its deliveries wait\n", "\(paused.text)")
        #expect(
            try await run("pause", "--sender", "apns").output == "sender apns was paused already\n")
        let list = try await run("pause").output
        #expect(list.hasPrefix("sender apns is paused since 20"), "\(list)")
        #expect(list.hasSuffix(" by anna (127.0.0.1): wrong text\n"), "\(list)")
        let again = try await run("pause", "--sender", "apns", "--reason", "wrong title")
        #expect(again.output == "sender apns was paused already; the reason is new\n")
        #expect(try await run("pause").output.hasSuffix(" by anna (127.0.0.1): wrong title\n"))
        let top = try await run("top", "--once").output
        #expect(
            top.contains("  paused  ")
                && top.contains("  by anna (127.0.0.1): wrong title, since 20"), "\(top)")
        #expect(try await run("resume", "--sender", "apns").output == "sender apns is resumed\n")
        #expect(
            try await run("resume", "--sender", "apns").output == "sender apns was not paused\n")
        #expect(try await run("resume").status == 64)
        let slip = try await run("resume", "--route", "replie")
        #expect(slip.status == 1 && slip.errors.contains("did you mean"), "\(slip.text)")
        let unknown = try await run("pause", "--route", "replie")
        #expect(unknown.status == 1 && unknown.errors.contains("replies"), "\(unknown.text)")
        await rig.end()
    }

    @Test func `a command says which token it lacks, and where it has asked`() async throws {
        let port = try OwnPort.take()
        let token = ", admin_token: a-token-of-operators"
        let rig = try await GatewayRig(config: {
            AdminTests.config($0, token, "127.0.0.1:\(port)")
        })
        let text = GatewayRig.yaml(rig.simulators)
        func run(_ address: String, _ token: String) async throws -> String {
            let file = try ProgramTests.temporary(
                "gateway.yaml",
                text.replacing(#"admin: "127.0.0.1:0""#, with: #"admin: "\#(address)"\#(token)"#))
            let ended = try await ProgramTests.run(
                ["pause", "--config", file, "--admin", address], environment: ["ADMIN_TOKEN": ""])
            #expect(ended.status == 1, "\(ended.text)")
            return ended.errors
        }
        let here = "127.0.0.1:\(port)"
        let unset = try await run(here, #", admin_token: "${env:ADMIN_TOKEN}""#)
        #expect(unset.contains("401") && unset.contains("ADMIN_TOKEN is not set"), "\(unset)")
        let without = try await run(here, "")
        #expect(without.contains("has no gateway.admin_token"), "\(without)")
        let other = try await run(here, ", admin_token: another-token-of-operators")
        #expect(other.contains("it has another gateway.admin_token than"), "\(other)")
        let nobody = try await run("127.0.0.1:1", token)
        #expect(
            nobody.contains("no gateway answers at http://127.0.0.1:1: ")
                && nobody.contains("with --admin host:port"), "\(nobody)")
        await rig.end()
    }

    @Test func `what waits is cancelled for good, and its receivers hear of it`() async throws {
        let port = try OwnPort.take()
        let rig = try await GatewayRig(config: { AdminTests.config($0, "", "127.0.0.1:\(port)") })
        let file = rig.folder.appending(path: "gateway.yaml").path
        func run(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(["waiting"] + arguments + ["--config", file])
        }
        _ = try await Self.order(rig, "/pause", #"{"sender":"apns"}"#)
        for number in 1...3 {
            try await rig.post(GatewayRig.webhook([("ios", "wrong\(number)")], ticket: "\(number)"))
        }
        await Self.waitFor(waiting: 3, rig.gateway)
        #expect(try await run("list").output.contains("waiting 3"))
        #expect(try await run("cancel").status == 64)
        let cancelled = try await run("cancel", "--route", "replies")
        #expect(cancelled.output == "cancelled\n", "\(cancelled.text)")
        #expect(try await run("list").output.contains(#"cancelled: {"id":"#))
        _ = try await Self.order(rig, "/resume", #"{"sender":"apns"}"#)
        await Self.waitFor(waiting: 0, rig.gateway)
        try await rig.post(GatewayRig.webhook([("ios", "right")], ticket: "9"))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["right"])
        #expect(rig.simulators.apns.received.count == 1)
        #expect(rig.log.all.filter { $0.contains(" delivery cancelled ") }.count == 3)
        #expect(rig.metrics.contains(#"result="cancelled",reason="cancelled"} 3"#))
        let dead = try await rig.json("/dead")
        #expect(dead["count"]?.integer == 0)
        let misspelt = try await run("cancel", "--route", "replise")
        #expect(misspelt.status != 0)
        #expect(misspelt.text.contains(#"there is no route "replise" (did you mean "replies"?)"#))
        #expect(try await run("cancel", "--sender", "old", "--gone").output == "cancelled\n")
        await rig.end()
    }
}
