internal import SignalboxCore

/// Why the database did not do something.
///
/// Holds no secret and no value of a row: only PostgreSQL's primary message, which names tables and columns.
struct PostgresFault: Error, Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// No connection, or it was lost: statements that were sent may or may not have run.
        case lost
        /// The server did not answer in time; the connection is unusable.
        case timedOut
        /// The server refused a statement; the transaction is aborted, the connection still works.
        case refused
    }

    var kind: Kind
    /// Five characters, `23505`; empty without an answer of the server.
    var sqlState = ""
    var message: String
    /// Which of the statements sent since the last `finish` was refused.
    var statement: Int?

    /// The same statements may succeed when they are sent again: another transaction was in their way.
    var isPassing: Bool { ["40001", "40P01", "55P03"].contains(sqlState) }

    /// It waited for a lock until its time was over.
    var isLocked: Bool { sqlState == "55P03" }

    /// The server gave it too little time, or did not answer.
    var isSlow: Bool { kind == .timedOut || isLocked || sqlState == "57014" }

    /// No disk space at the server, or its own limits.
    var isFull: Bool { ["53100", "53200"].contains(sqlState) }

    /// The server ends the connection, or takes none.
    var isEnd: Bool { sqlState.hasPrefix("57P") }

    /// The server is starting, stopping, read-only or has no place for this connection: another try may reach one that
    /// is not.
    var isAway: Bool {
        kind != .refused || isEnd || sqlState == "25006"
            || sqlState == "53300"
    }

    /// Events were answered before they could be committed; the others may be tried again.
    static let late = PostgresFault(
        kind: .refused, sqlState: "55P03", message: StoreFailure.slow.message)

    /// For callers and the log.
    var failure: StoreFailure {
        let fix = Self.fixes[sqlState].map { "; \($0)" } ?? ""
        return StoreFailure(
            message: sqlState.isEmpty ? message : "\(message) (SQLSTATE \(sqlState))\(fix)")
    }

    private static let fixes = [
        "25006": "list all hosts in gateway.store, so that it finds the one that takes writes",
        "53100": "free room on the database's disk",
        "42501": "grant the user what docs/configuration.md names",
    ]

    /// Of a connection that could not be made; libpq has words for it and no code.
    static func unreachable(_ words: String) -> PostgresFault {
        let fix =
            advice.first { words.contains($0.words) }?.fix
            ?? "check the address in gateway.store, and that the server runs"
        return PostgresFault(kind: .lost, message: "\(words); \(fix)")
    }

    private static let advice = [
        ("password authentication failed", "check the password in gateway.store, or its passfile"),
        ("no password supplied", "give one in gateway.store, or name a passfile of mode 0600"),
        ("no pg_hba.conf entry", "allow this host and user in the server's pg_hba.conf"),
        ("does not exist", "create it, or check its name in gateway.store"),
        ("is not permitted to log in", "let it: ALTER ROLE ... LOGIN"),
        ("permission denied", "let the user in: GRANT CONNECT ON DATABASE ..."),
        ("too many clients", "raise max_connections: each gateway uses five"),
        ("connection slots", "raise max_connections: each gateway uses five"),
        (
            "too many connections for role",
            "raise its limit (ALTER ROLE ... CONNECTION LIMIT): each gateway uses five"
        ),
        (
            "too many connections for database",
            "raise its limit (ALTER DATABASE ... CONNECTION LIMIT): each gateway uses five"
        ),
        (
            "no more connections allowed",
            "raise PgBouncer's max_client_conn: each gateway uses five"
        ),
        ("is not currently accepting", "let it: ALTER DATABASE ... ALLOW_CONNECTIONS true"),
        ("read-only", "no host in gateway.store takes writes: list the primary and its standbys"),
        ("hot standby", "no host in gateway.store takes writes: list the primary and its standbys"),
        ("does not match host name", "use a name that its certificate has"),
        ("certificate verify failed", "check sslrootcert in gateway.store"),
        ("starting up", "wait until it has started"),
        ("not yet accepting connections", "wait until it has started"),
        ("in recovery mode", "wait until it has recovered"),
        ("shutting down", "wait until it has started again"),
    ].map { (words: $0.0, fix: $0.1) }
}
