import Foundation
import PluginRig
import SignalboxCore
import StoreConformance
import Testing

@testable import SignalboxPostgres

/// Ways to a database: TLS, passwords, several hosts, a pooler.
@Suite struct ReachTests {
    /// Has everything that is special in a URL and in a file of passwords.
    private static let password = #"p@ss:/w%rd?&#\'x"#

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func secured() async throws -> (server: PostgresServer, port: Int, String) {
        let port = try OwnPort.take()
        let server = try await PostgresServer.own(.tls(port: port))
        let word = Self.password.replacing("'", with: "''")
        try await server.run("CREATE ROLE gate LOGIN PASSWORD '\(word)'")
        let database = try await server.database()
        try await server.run("GRANT ALL ON DATABASE \(database.name) TO gate")
        return (server, port, database.name)
    }

    @Test func `a server is known by its certificate, and a password may hold anything`()
        async throws
    {
        let (server, port, name) = try await secured()
        let root = "sslmode=verify-full&sslrootcert=\(Self.encoded("\(server.folder)/server.crt"))"
        let secret = Self.encoded(Self.password)
        let rig = try await StoreRig.open(
            "postgres://gate:\(secret)@localhost:\(port)/\(name)?\(root)")
        guard case .committed = await rig.append(1) else {
            Issue.record("the event was refused")
            return
        }
        await rig.store.close()
        // The certificate names another host.
        let error = await #expect(throws: StoreError.self) {
            try await StoreRig.open(
                "postgres://gate:\(secret)@127.0.0.1:\(port)/\(name)?\(root)")
        }
        #expect(error?.code == "store-unreachable")
        #expect(error?.message.contains("does not match host name \"127.0.0.1\"") == true)
        let wrong = await #expect(throws: StoreError.self) {
            try await StoreRig.open("postgres://gate:wrong@localhost:\(port)/\(name)?\(root)")
        }
        #expect(wrong?.message.contains("password authentication failed") == true)
    }

    @Test func `a password that changes in its file is used without a restart`() async throws {
        let (server, port, name) = try await secured()
        let file = "\(NSTemporaryDirectory())/sbx-\(UUID().uuidString).pgpass"
        defer { try? FileManager.default.removeItem(atPath: file) }
        func write(_ password: String) throws {
            let word = password.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
            _ = FileManager.default.createFile(
                atPath: file, contents: Data("localhost:\(port):*:gate:\(word)\n".utf8),
                attributes: [.posixPermissions: 0o600])
        }
        try write(Self.password)
        let rig = try await StoreRig.open(
            "postgres://gate@localhost:\(port)/\(name)?sslmode=require&passfile=\(Self.encoded(file))"
        )
        try await rig.appendUntilTaken(1)
        try await server.run("ALTER ROLE gate PASSWORD 'new'")
        try await server.database(name).disconnect()
        while case .committed = await rig.append(2) {}
        try await until {
            rig.notices.texts.contains { $0.contains("password authentication failed") }
        }
        try write("new")
        try await rig.appendUntilTaken(3)
        await rig.store.close()
    }

    @Test func `what was answered 2xx is there after a failover to the synchronous standby`()
        async throws
    {
        let primary = try await PostgresServer.own()
        let standby = try await PostgresServer.own(.standby(of: primary))
        let database = try await primary.database()
        try await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await primary.run("SELECT pg_reload_conf()")
        try await until {
            try await primary.run("SELECT sync_state FROM pg_stat_replication").hasPrefix("sync")
        }
        // The database was made before its commits waited for the standby.
        try await until {
            try await standby.run(
                "SELECT count(*) FROM pg_database WHERE datname = '\(database.name)'"
            ).hasPrefix("1")
        }
        // The first is dead, the second takes no writes.
        let hosts = ["/nonexistent", standby.folder, primary.folder].map(Self.encoded)
        let rig = try await StoreRig.open(
            "postgres://signalbox@\(hosts.joined(separator: ","))/\(database.name)",
            patienceMs: 1_000)
        for id in 1...UInt64(20) { try await rig.appendUntilTaken(id, key: "k\(id)") }
        async let load: [UInt64] = {
            var taken: [UInt64] = []
            for id in UInt64(21)... {
                if case .committed = await rig.append(id, key: "k\(id)") {
                    taken.append(id)
                } else if taken.count >= 10 {
                    return taken
                }
            }
            return taken
        }()
        try await until { try await database.blocked() >= 30 }
        try await primary.kill()
        let promised = await load
        try await standby.run("SELECT pg_promote()")
        try await rig.appendUntilTaken(1_000_000)
        let after = standby.database(database.name)
        let keys = try await after.number("SELECT count(*) FROM signalbox.seen")
        #expect(keys >= 20 + promised.count)
        #expect(try await after.blocked() >= 20 + promised.count + 1)
        await rig.store.close()
    }

    /// Some of each kind; a pooler in front of a failing server keeps its clients waiting.
    private static let rules = StoreConformance.rules.filter { $0.trait != .failing }
        .enumerated().filter { $0.offset % 5 == 0 }.map(\.element)

    @Test(arguments: rules)
    func `through PgBouncer in transaction mode, the store keeps the rule`(
        rule: StoreRule
    ) async throws {
        let server = try await PostgresServer.shared()
        let pooler = try await Self.pooler.value()
        let database = try await server.database()
        let engine = PostgresEngine(
            database, address: pooler.address(of: database), usesNames: false)
        #expect(try await StoreConformance.check(rule, of: engine) == .kept)
    }

    private static let pooler = OnceAsync {
        try await Pooler(before: try await PostgresServer.shared())
    }
}
