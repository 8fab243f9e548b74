import Foundation

/// A PostgreSQL server of its own for the tests of this process, and databases on it.
///
/// It is stopped and removed when the process has ended, however that came about.
package final class PostgresServer: Sendable {
    /// What kind of server.
    package enum Kind: Sendable {
        case plain
        /// With a certificate for `localhost`, and passwords for all that come over this port.
        case tls(port: Int)
        /// A copy that follows another one.
        case standby(of: PostgresServer)
    }

    /// Where its socket is, and its certificate: `server.crt`.
    package let folder: String
    private let port: Int

    private static let one = OnceAsync { try await PostgresServer() }

    /// The server, started on first use.
    package static func shared() async throws -> PostgresServer { try await one.value() }

    /// A server for tests that break it.
    package static func own(_ kind: Kind = .plain) async throws -> PostgresServer {
        try await PostgresServer(kind)
    }

    private init(_ kind: Kind = .plain) async throws {
        port = if case .tls(let port) = kind { port } else { 5_432 }
        // Short: the path of a socket has at most 107 bytes.
        folder = "/tmp/sbx-pg-\(UUID().uuidString.prefix(8))"
        let output = Pipe()
        let script = PluginRig.root.appending(path: "Tests/PluginRig/postgres-server.sh").path
        _ = try Program(
            [script, folder, "\(ProcessInfo.processInfo.processIdentifier)"] + Self.words(kind),
            at: PluginRig.root, output: output, errors: .init())
        let said = try await Tool.next(output)
        guard said.hasPrefix("ready") else {
            throw PluginRig.Failure(description: "PostgreSQL did not start: \(said)")
        }
    }

    private static func words(_ kind: Kind) -> [String] {
        switch kind {
        case .plain: []
        case .tls(let port): ["tls", "\(port)"]
        case .standby(let primary): ["standby-of", primary.folder]
        }
    }

    /// Suspends the server's processes, or resumes them.
    package func freeze(_ isFrozen: Bool) async throws {
        let process = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
            .prefix { $0 != "\n" }
        let all = try await Tool.output(["pgrep", "-P", "\(process)"]).split(separator: "\n")
        let signal = isFrozen ? "-STOP" : "-CONT"
        try await Tool.output(["kill", signal] + all.map { String($0) } + [String(process)])
    }

    /// Ends it as a power cut would.
    package func kill() async throws {
        try await Tool.output([
            "bash", "-c", "kill -KILL -- $(head -n 1 \(folder)/data/postmaster.pid)",
        ])
    }

    /// A new and empty database.
    package func database() async throws -> PostgresDatabase {
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await run("CREATE DATABASE \(name) TEMPLATE template0", in: "postgres")
        return database(name)
    }

    /// The database of this name on this server.
    package func database(_ name: String) -> PostgresDatabase {
        PostgresDatabase(server: self, name: name)
    }

    /// Its Unix socket.
    package var socket: String { "\(folder)/.s.PGSQL.5432" }

    /// Removes a user who no longer owns anything.
    package func remove(user: String) async throws {
        try await run("DROP ROLE \(user)", in: "postgres")
    }

    fileprivate func address(of database: String) -> String {
        "postgres://signalbox@\(folder.replacing("/", with: "%2F"))/\(database)"
    }

    /// Runs SQL as an operator would; what it prints, without decoration.
    @discardableResult
    package func run(_ sql: String, in database: String = "postgres") async throws -> String {
        // It may wait for a lock that a test holds.
        try await Tool.output(
            [
                "psql", "-p", "\(port)", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                folder, "-U", "signalbox", "-d", database, "-c", sql,
            ], waits: true)
    }
}

/// A database of one test.
package struct PostgresDatabase: Sendable {
    fileprivate let server: PostgresServer
    package let name: String

    /// For `gateway.store.postgres`.
    package var address: String { server.address(of: name) }

    /// Runs SQL in it.
    @discardableResult
    package func run(_ sql: String) async throws -> String { try await server.run(sql, in: name) }

    /// Takes no connections and ends those that there are, or takes them again.
    package func refuse(_ isRefusing: Bool) async throws {
        try await server.run(
            "ALTER DATABASE \(name) ALLOW_CONNECTIONS \(!isRefusing)", in: "postgres")
        if isRefusing { try await disconnect() }
    }

    /// Ends all connections.
    package func disconnect() async throws {
        try await server.run(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '\(name)'",
            in: "postgres")
    }

    /// Removes it.
    package func remove() async throws {
        try await server.run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", in: "postgres")
    }
}

/// A value that the first caller makes.
package actor OnceAsync<Value: Sendable> {
    private let make: @Sendable () async throws -> Value
    private var task: Task<Value, any Error>?

    package init(_ make: @escaping @Sendable () async throws -> Value) { self.make = make }

    package func value() async throws -> Value {
        let known = task ?? Task { try await make() }
        task = known
        return try await known.value
    }
}
