import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// Receivers learn how deliveries end.
@Suite(.timeLimit(.minutes(5))) struct OutcomeTests {
    static let secret = "secret-of-the-receiver"

    /// A receiver that answers as told, and lists the outcomes it has accepted.
    final class Receiver: Sendable {
        private struct State {
            var status = 200
            var refusesAbove = Int.max
            var posts: [HTTPServerRequest] = []
            var taken: [JSONValue] = []
        }
        private let state = Mutex(State())
        private let server = Mutex<VendorAPI?>(nil)

        static func start() async throws -> Receiver {
            let made = Receiver()
            let api = try await VendorAPI.start { [weak made] in
                made?.answer($0) ?? HTTPServerAnswer(status: 503)
            }
            made.server.withLock { $0 = api }
            return made
        }

        var origin: String { server.withLock { $0?.origin } ?? "" }
        var posts: [HTTPServerRequest] { state.withLock { $0.posts } }
        var taken: [JSONValue] { state.withLock { $0.taken } }
        func answers(_ status: Int) { state.withLock { $0.status = status } }
        func refuses(above count: Int) { state.withLock { $0.refusesAbove = count } }

        private func answer(_ request: HTTPServerRequest) -> HTTPServerAnswer {
            state.withLock { state in
                state.posts.append(request)
                guard case .array(let items)? = (try? JSONValue.parse(request.body))?["outcomes"]
                else { return HTTPServerAnswer(status: 400) }
                guard state.status == 200 else {
                    return HTTPServerAnswer(
                        status: state.status, headers: [Attribute("location", origin + "/other")])
                }
                if items.count > state.refusesAbove { return HTTPServerAnswer(status: 413) }
                state.taken += items
                return HTTPServerAnswer(status: 204)
            }
        }

        /// The accepted outcomes, once there are `count` of them.
        func wait(for count: Int) async throws -> [JSONValue] {
            try await until("\(count) outcomes") { self.taken.count >= count }
            return taken
        }

        func end() async { await server.withLock { $0 }?.shutdown() }
    }

    static func yaml(
        _ simulators: Simulators, _ receivers: [String], more: String = "", expires: String = "1h"
    ) -> String {
        let outcomes =
            receivers.isEmpty ? "" : "outcomes:\n  - " + receivers.joined(separator: "\n  - ")
        return DurabilityTests.yaml(simulators, retries: 0, timeoutMs: 20_000)
            .replacingOccurrences(of: "expires: 1h", with: "expires: \(expires)")
            + "\n\(more)\n\(outcomes)\n"
    }

    static func receiver(_ api: Receiver, name: String = "crm", _ more: String = "") -> String {
        #"{ name: \#(name), url: "\#(api.origin)/in?x=1", secret: "\#(secret)"\#(more) }"#
    }

    @Test func `the end of a delivery is told, signed, without token and text`() async throws {
        let api = try await Receiver.start()
        let rig = try await GatewayRig(config: { Self.yaml($0, [Self.receiver(api)]) })
        try await rig.simulators.apns.take(
            .fail(tokens: ["gone"], status: 400, reason: "BadDeviceToken", times: nil))
        try await rig.post(
            GatewayRig.webhook([("ios", "good"), ("ios", "gone"), ("android", "fine")]))
        let all = try await api.wait(for: 3)
        #expect(Set(all.compactMap { $0["sequence"]?.integer }) == [1, 2, 3])
        let results = all.compactMap { $0["result"]?.string }.sorted()
        #expect(results == ["dead", "delivered", "delivered"])
        let dead = try #require(all.first { $0["result"]?.string == "dead" })
        #expect(dead["reason"]?.string == "BadDeviceToken")
        let good = try #require(
            all.first { $0["sender"]?.string == "apns" && $0["result"]?.string == "delivered" })
        #expect(good["source"]?.string == "z" && good["type"]?.string == "ticket.replied")
        #expect(good["subject"]?.string == "ticket/5" && good["platform"]?.string == "ios")
        #expect(good["route"]?.string == "replies" && good["attempts"]?.integer == 1)
        #expect(good["source_id"]?.string?.isEmpty == false)
        #expect(good["event_id"]?.integer ?? 0 > 0 && good["unix_ms"]?.integer ?? 0 > 0)
        let push = try #require(
            rig.simulators.apns.received.first { $0.token == "good" })
        #expect(good["delivery"]?.string == push.header("apns-id"))
        let fcm = try #require(all.first { $0["sender"]?.string == "fcm" })
        #expect(fcm["provider_id"]?.string?.contains("/messages/") == true)

        for post in api.posts {
            let field = try #require(post.header("signalbox-signature"))
            let match = try #require(field.wholeMatch(of: #/t=(\d+),v1=([0-9a-f]{64})/#))
            let digest = HMACDigest.sha256(
                key: Array(Self.secret.utf8), data: Array("\(match.output.1).".utf8) + post.body)
            #expect(Hex.encode(digest) == match.output.2)
            #expect(post.header("content-type") == "application/json")
            let text = String(decoding: post.body, as: UTF8.self)
            for secret in ["\"good\"", "\"gone\"", "secret-body", Self.secret] {
                #expect(!text.contains(secret))
            }
        }
        #expect(!rig.log.all.contains { $0.contains(Self.secret) })
        try await OutageTests.expectMetric(
            #"signalbox_outcomes_sent_total{receiver="crm"} 3"#, rig)
        await rig.end()
        await api.end()
    }

    @Test func `a receiver that is down holds nobody up, and is told when it is back`() async throws
    {
        let api = try await Receiver.start()
        api.answers(503)
        // It takes no more than three at a time, either.
        api.refuses(above: 3)
        let rig = try await GatewayRig(config: { Self.yaml($0, [Self.receiver(api)]) })
        for number in 0..<20 {
            try await rig.post(
                GatewayRig.webhook([("ios", "t\(number)")], ticket: "\(number)"))
        }
        #expect(await rig.delivered(rig.simulators.apns, 20).count == 20)
        let line = try await OutageTests.line(rig, "receiver of outcomes seems to be down")
        #expect(line.contains("outcomes.receiver=crm") && line.contains("reason=503"))
        let readiness = try await OutageTests.readiness(rig)
        #expect(readiness["status"]?.string == "degraded")
        #expect(readiness["outcomes"]?[0]?["state"]?.string == "failing")
        #expect(readiness["outcomes"]?[0]?["reason"]?.string == "503")
        #expect(
            rig.metrics.contains(#"signalbox_outcomes_held{receiver="crm"} 1"#))
        api.answers(200)
        let all = try await api.wait(for: 20)
        #expect(all.compactMap { $0["sequence"]?.integer } == Array(1...20))
        #expect(Set(all.compactMap { $0["delivery"]?.string }).count == 20)
        _ = try await OutageTests.line(rig, "receiver of outcomes is back")
        try await until("nothing waits") {
            rig.gateway.metricsText.contains(#"signalbox_outcomes_waiting{receiver="crm"} 0"#)
        }
        #expect(try await OutageTests.readiness(rig)["status"]?.string == "ready")
        await rig.end()
        await api.end()
    }

    @Test func `a refusal is loud and costs a request or two, and a reload tries again`()
        async throws
    {
        let api = try await Receiver.start()
        let rig = try await GatewayRig(config: { Self.yaml($0, [Self.receiver(api)]) })
        for (round, status) in [400, 401, 404, 302].enumerated() {
            api.answers(status)
            try await rig.post(GatewayRig.webhook([("ios", "a")], ticket: "\(round)"))
            let words = "receiver rejects outcomes"
            try await until("\(status) is told") {
                rig.log.all.contains { $0.contains(words) && $0.contains("reason=\(status)") }
            }
            let state = try await OutageTests.readiness(rig)["outcomes"]?[0]?["state"]?.string
            #expect(state == "misconfigured")
            // Before each of them there were one that was refused, and one that was taken.
            #expect(api.posts.count == 2 * round + 1)
            #expect(api.posts.allSatisfy { $0.path == "/in" })
            api.answers(200)
            try await rig.gateway.reload()
            #expect(try await api.wait(for: round + 1).count == round + 1)
        }
        await rig.end()
        await api.end()
    }

    @Test
    func `each receiver gets its routes and results, and a reload adds and removes receivers`()
        async throws
    {
        let (first, second) = (try await Receiver.start(), try await Receiver.start())
        let rig = try await GatewayRig(config: {
            Self.yaml($0, [Self.receiver(first, ", routes: [replies], results: [dead]")])
        })
        try await rig.simulators.apns.take(
            .fail(tokens: ["gone"], status: 400, reason: "BadDeviceToken", times: nil))
        try await rig.post(GatewayRig.webhook([("ios", "good"), ("ios", "gone")]))
        #expect(try await first.wait(for: 1)[0]["result"]?.string == "dead")
        let config = Self.yaml(rig.simulators, [Self.receiver(second, name: "other")])
        try rig.write(config)
        try await rig.gateway.reload()
        try await rig.post(GatewayRig.webhook([("ios", "next")], ticket: "6"))
        let told = try await second.wait(for: 1)
        #expect(told.count == 1 && told[0]["subject"]?.string == "ticket/6")
        try rig.write(Self.yaml(rig.simulators, []))
        try await rig.gateway.reload()
        try await rig.post(GatewayRig.webhook([("ios", "last")], ticket: "7"))
        #expect(await rig.delivered(rig.simulators.apns, 3).count == 3)
        #expect(first.taken.count == 1 && second.taken.count == 1)
        #expect(try await OutageTests.readiness(rig)["outcomes"]?.text == "[]")
        await rig.end()
        await first.end()
        await second.end()
    }

    @Test func `what expires on disk is told with the attempts that it had`() async throws {
        let clock = SharedClock()
        let api = try await Receiver.start()
        let rig = try await GatewayRig(
            clock: { clock.now }, config: { Self.yaml($0, [Self.receiver(api)]) })
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 403, reason: "InvalidProviderToken", times: nil))
        try await rig.post(GatewayRig.webhook([("ios", "a")]))
        _ = try await OutageTests.line(rig, "refuses this sender's credentials")
        // It expires after an hour; the next probe notices, and its sender is no longer held.
        clock.advance(ms: 2 * 3_600_000)
        try await rig.gateway.reload()
        _ = try await OutageTests.line(rig, "nothing waits for it")
        #expect(try await OutageTests.readiness(rig)["status"]?.string == "ready")
        #expect(try await OutageTests.dead(rig) == 1)
        let told = try await api.wait(for: 1)
        #expect(told[0]["result"]?.string == "expired" && told[0]["attempts"]?.integer == 1)
        await rig.end()
        await api.end()
    }

    @Test func `a killed process loses no outcome`() async throws {
        let api = try await Receiver.start()
        let simulators = try await Simulators.start()
        let yaml =
            GatewayRig.yaml(simulators) + "\noutcomes:\n  - "
            + Self.receiver(api)
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let client = try RESTClient()
        let promises = CrashTests.Promises()
        let seed = UInt64.random(in: 0 ... .max)
        var random = AnyText(seed: seed)
        for round in 0..<4 {
            // The receiver is down at times, so that outcomes also wait on disk.
            api.answers(round == 1 ? 503 : 200)
            let running = try await CrashTests.start(file)
            let moment = 50 + Int(random.next() % 600)
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { await CrashTests.load(running.port, client, promises) }
                }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(moment))
                    kill(running.process.processIdentifier, SIGKILL)
                }
            }
            #expect(try await Tool.end(running.process) == -SIGKILL)
            running.pipe.fileHandleForReading.readabilityHandler = nil
        }
        api.answers(200)
        let last = try await CrashTests.start(file)
        let promised = promises.all
        #expect(!promised.isEmpty, "seed \(seed)")
        try await until("\(promised.count) tokens delivered and told, seed \(seed)") {
            let pushes = (simulators.apns.received + simulators.fcm.received).filter {
                $0.status == 200
            }
            // Each token is a delivery; those whose webhook got no answer are reported, too.
            let told = Set(api.taken.compactMap { $0["delivery"]?.string })
            return promised.isSubset(of: pushes.map(\.token))
                && told.count == Set(pushes.map(\.token)).count
                && told.isSuperset(of: pushes.compactMap { $0.header("apns-id") })
        }
        try await last.end()
        client.shutdown()
        await simulators.shutdown()
        await api.end()
    }
}
