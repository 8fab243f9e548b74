import Foundation

/// A PostgreSQL server of this run, on a socket in a folder of its own.
final class Postgres {
    private let child: Child
    private let socket: String
    private var count = 0

    init() throws {
        // Short: the path of a socket has at most 107 bytes.
        socket = "/tmp/sbx-pg-\(UUID().uuidString.prefix(8))"
        child = try Child([
            "Tests/PluginRig/postgres-server.sh", socket,
            "\(ProcessInfo.processInfo.processIdentifier)",
        ])
        guard try child.line() == "ready" else { throw Failure("PostgreSQL did not start") }
    }

    /// The address of a new and empty database.
    func database() throws -> String {
        count += 1
        _ = try Child(["createdb", "-h", socket, "-U", "signalbox", "bench\(count)"]).rest()
        return "postgres://signalbox@\(socket.replacing("/", with: "%2F"))/bench\(count)"
    }

    /// The time of a lone commit of one row, in milliseconds.
    func commitMs() throws -> Double {
        let address = try database()
        _ = try Child(["psql", "-q", "-d", address, "-c", "CREATE TABLE one (n bigint)"]).rest()
        let tool = try Child(["sh", "-c", "ls /usr/lib/postgresql/*/bin/pgbench | tail -n 1"])
            .rest()
        let script = socket + "/commit.sql"
        try "INSERT INTO one VALUES (1);\n".write(toFile: script, atomically: true, encoding: .utf8)
        let text = try Child([
            tool.trimmingCharacters(in: .newlines), "-n", "-c", "1", "-t", "1000", "-M", "prepared",
            "-f", script, address,
        ]).rest()
        let line = text.split(separator: "\n").first { $0.hasPrefix("latency average") } ?? ""
        guard let ms = line.split(separator: " ").compactMap({ Double($0) }).first else {
            throw Failure("not a report of pgbench: \(text)")
        }
        return ms
    }

    /// The processor time that the server's processes have used, in seconds.
    var cpuSeconds: Double {
        func text(_ path: String) -> String {
            (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        }
        let file = text(socket + "/data/postmaster.pid")
        guard let pid = file.split(separator: "\n").first.flatMap({ Int32($0) }) else { return 0 }
        let path = "/proc/\(pid)/task/\(pid)/children"
        return text(path).split(separator: " ").compactMap { Int32($0) }.reduce(0) {
            $0 + ProcessFacts(pid: $1).cpuSeconds
        }
    }

    func stop() { child.stop() }
}

/// The store on PostgreSQL beside SQLite, in the same run.
extension Bench {
    func postgres() throws {
        let server = try Postgres()
        defer { server.stop() }
        let commitMs = try server.commitMs()
        note("postgres_commit_ms", commitMs, "one row committed by pgbench, mean")
        try postgresStore(server)
        try postgresLookUps(server)
        try postgresAnswers(server, commitMs: commitMs)
        try postgresFleet(server)
    }

    /// Events with two deliveries, committed and settled: both engines twice, one after the other.
    private func postgresStore(_ server: Postgres) throws {
        var rates: [(sqlite: Double, postgres: Double)] = []
        for _ in 0..<2 {
            let store = [measure, "store", "--events", "\(some(300_000))", "--folder"]
            let sqlite = try Child.figures(store + [try fresh("store")])
            let postgres = try Child.figures(
                store + [try fresh("store"), "--postgres", try server.database()])
            rates.append((sqlite["events_per_second"] ?? 0, postgres["events_per_second"] ?? 0))
        }
        let postgres = rates.map(\.postgres).reduce(0, +) / Double(rates.count)
        let sqlite = rates.map(\.sqlite).reduce(0, +) / Double(rates.count)
        note("postgres_events_per_second", postgres, "events with two deliveries, as (d)")
        note("postgres_events_ratio", postgres / sqlite, "of SQLite in the same run (target 0.40)")
    }

    /// The devices of 10,000 users, as one event asks for them.
    private func postgresLookUps(_ server: Postgres) throws {
        var times: [Double] = []
        for place in [["--folder", try fresh("registry")], ["--postgres", try server.database()]] {
            _ = try Child.figures([measure, "registry"] + place)
            times.append(try Child.figures([measure, "look-ups"] + place)["ms"] ?? 0)
        }
        note("postgres_look_ups_ms", times[1], "devices of 10,000 users")
        note("postgres_look_ups_ratio", times[1] / times[0], "times SQLite (target 2)")
    }

    /// Answers of webhooks at a steady rate.
    private func postgresAnswers(_ server: Postgres, commitMs: Double) throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        let gateway = try GatewayProcess(
            self, yaml(sinkPort: sink.port, postgres: try server.database()))
        defer { gateway.stop() }
        try sink.begin(numbers: 1)
        let webhooks = some(2_000)
        _ = try load(gateway, count: webhooks)
        _ = try sink.wait(for: webhooks * 2)
        usleep(2_000_000)
        for rate in [some(100), some(1_000)] {
            let answered = try steady(gateway, sink, perSecond: rate, "with PostgreSQL, ").answered
            let (p50, p99) = ((answered["p50_us"] ?? 0) / 1_000, (answered["p99_us"] ?? 0) / 1_000)
            note("postgres_answer_ms_p50_at_\(rate)", p50, "webhook due to answered")
            note("postgres_answer_ms_p99_at_\(rate)", p99, "webhook due to answered")
            note("postgres_answer_commits_p99_at_\(rate)", p99 / commitMs, "commits (target 3)")
        }
    }

    /// Processor time per delivery: one gateway, then four that share its load.
    private func postgresFleet(_ server: Postgres) throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        var costs: [Double] = []
        for gateways in [1, 4] {
            let store = try server.database()
            let all = try (0..<gateways).map { _ in
                try GatewayProcess(self, yaml(sinkPort: sink.port, postgres: store))
            }
            defer { for gateway in all { gateway.stop() } }
            let (own, servers) = try share(sink, all, webhooks: some(40_000, steps: 8), server)
            costs.append(own)
            let words = gateways == 1 ? "one gateway" : "\(gateways) gateways"
            note("postgres_us_per_delivery_\(gateways)", own, "processor time, \(words)")
            note("postgres_server_us_per_delivery_\(gateways)", servers, "of the server, \(words)")
        }
        note("postgres_fleet_ratio", costs[1] / costs[0], "four gateways to one (target 1.2)")
    }

    /// Spreads webhooks with two devices each over gateways. Returns the processor time per delivery of all gateways
    /// together, and of the database.
    private func share(
        _ sink: Sink, _ gateways: [GatewayProcess], webhooks: Int, _ server: Postgres
    ) throws -> (gateways: Double, server: Double) {
        func send(_ count: Int) throws {
            try sink.begin(numbers: count * 2)
            let part = count / gateways.count
            let loads = try gateways.enumerated().map { number, gateway in
                try Child([
                    wire, "load", "\(gateway.port)", "/in/zendesk",
                    "\(min(256, count) / gateways.count)",
                    "\(part)", "0", "2", "x-gateway: \(number)",
                ])
            }
            for load in loads {
                let report = try Figures.parse(try load.line())
                require(report["wrong"] == 0, "with \(gateways.count) gateways: \(report)")
            }
            let seen = try sink.wait(for: part * gateways.count * 2)
            require(
                seen["requests"] == Double(part * gateways.count * 2) && seen["wrong"] == 0,
                "with \(gateways.count) gateways: \(seen)")
        }
        try send(some(4_000, steps: 8))
        let before = (gateways.map(\.facts.cpuSeconds).reduce(0, +), server.cpuSeconds)
        try send(webhooks)
        let deliveries = Double(webhooks * 2)
        return (
            (gateways.map(\.facts.cpuSeconds).reduce(0, +) - before.0) / deliveries * 1e6,
            (server.cpuSeconds - before.1) / deliveries * 1e6
        )
    }
}
