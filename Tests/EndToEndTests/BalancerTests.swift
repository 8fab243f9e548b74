import Foundation
import PluginRig
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The configurations in deploy/, with the real balancers in front of two gateways of the real program.
@Suite(.timeLimit(.minutes(10))) struct BalancerTests {
    private struct Gateway {
        let file: String
        let port: Int
        let admin: Int
        var running: CrashTests.Running

        init(
            _ name: String, _ simulators: Simulators, _ database: PostgresDatabase
        ) async throws {
            (port, admin) = (try OwnPort.take(), try OwnPort.take())
            let yaml = GatewayRig.yaml(simulators)
                .replacing("drain: 5s", with: "drain: 1m, shutdown_delay: 3s")
                .replacing(#"listen: "127.0.0.1:0""#, with: "listen: \"127.0.0.1:\(port)\"")
                .replacing(#"admin: "127.0.0.1:0""#, with: "admin: \"127.0.0.1:\(admin)\"")
            file = try GatewayRig.file(name, on: database, yaml)
            running = try await CrashTests.start(file)
        }

        /// Waits until the balancer sends it webhooks.
        func isUsed(_ client: RESTClient) async throws {
            for _ in 0..<12_000 {
                let answer = try await client.patient(
                    RESTCall(method: "GET", url: "http://127.0.0.1:\(admin)/metrics"))
                let text = String(decoding: answer.body, as: UTF8.self)
                // The series is there from the start, with 0.
                if text.contains(/requests_total\{instance="z",status="200"\} [1-9]/) { return }
                try await Task.sleep(for: .milliseconds(20))
            }
            Issue.record("the balancer does not use \(port)")
        }
    }

    /// Waits until the balancer answers.
    private static func isUp(_ port: Int, _ tally: Tally) async throws {
        for _ in 0..<6_000 {
            if let client = try? RawClient(port: port) {
                let token = tally.next()
                client.send(Poster.request(token, keepsAlive: false))
                let answer = await client.read()
                if answer.hasPrefix("HTTP/1.1 200") { return tally.note(token, answer) }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the balancer does not answer on port \(port)")
    }

    private static func post(_ port: Int, _ tally: Tally, while body: () async throws -> Void)
        async throws
    {
        try await withThrowingTaskGroup { group in
            for number in 0..<4 {
                let poster = Poster(port: port, keepsAlive: number % 2 == 0, tally: tally)
                group.addTask { await poster.run() }
            }
            try await body()
            tally.end()
            try await group.waitForAll()
        }
    }

    @Test(arguments: Front.Balancer.allCases)
    func `a rolling restart refuses no webhook, and a kill no more than were in flight`(
        balancer: Front.Balancer
    ) async throws {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        let client = try RESTClient()
        var gateways = [
            try await Gateway("one", simulators, database),
            try await Gateway("two", simulators, database),
        ]
        let port = try OwnPort.take()
        let front = try Front(balancer, port: port, gateways.map { ($0.port, $0.admin) })
        let calm = Tally()
        try await Self.isUp(port, calm)
        try await Self.post(port, calm) {
            for index in [0, 1] {
                for gateway in gateways { try await gateway.isUsed(client) }
                try await calm.wait(forMore: 40)
                try await gateways[index].running.end()
                gateways[index].running = try await CrashTests.start(gateways[index].file)
            }
            for gateway in gateways { try await gateway.isUsed(client) }
            try await calm.wait(forMore: 40)
        }
        #expect(calm.faults.isEmpty, "\(calm.kindsOfFaults); \(front.said)")

        let rough = Tally(prefix: "killed-")
        try await Self.post(port, rough) {
            try await rough.wait(forMore: 40)
            try await gateways[0].running.kill()
            try await rough.wait(forMore: 100, whateverFails: true)
        }
        #expect(
            rough.faults.count <= 4,
            "each of four clients had one in flight: \(rough.kindsOfFaults); \(front.said)")
        // It takes back what it held.
        gateways[0].running = try await CrashTests.start(gateways[0].file)
        #expect(try await simulators.missing(of: calm.tokens + rough.tokens).isEmpty)
        print(
            "\(balancer): \(calm.tokens.count + rough.tokens.count) webhooks, \(rough.faults.count) "
                + "lost by the kill")
        try await front.end()
        for gateway in gateways { try await gateway.running.end() }
        client.shutdown()
        await simulators.shutdown()
        try await database.remove()
    }
}
