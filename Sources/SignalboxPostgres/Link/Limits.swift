/// What a gateway's sessions set, whatever a role or a database has as its default: how long the server lets a connection wait for
/// locks, work and be idle, so that no process of it stays behind when this one is gone or has lost its patience, and the settings
/// that its statements are written for.
struct Limits {
    /// A role or database may set these to anything. How safe a commit is (`synchronous_commit`) is the operator's choice, which
    /// `durability` judges; the encoding is said when connecting.
    private static let settings: [(name: String, value: String, since: Int)] = [
        ("default_transaction_isolation", "read committed", 0),
        ("default_transaction_read_only", "off", 0),
        ("default_transaction_deferrable", "off", 0),
        // Functions and operators are the server's own.
        ("search_path", "pg_catalog", 0),
        ("standard_conforming_strings", "on", 0),
        ("transform_null_equals", "off", 0),
        ("row_security", "on", 0),
        ("DateStyle", "ISO, MDY", 0),
        // Statements find rows by their keys. The planner reads a table from end to end if its statistics are from a time when it was
        // empty, and keeps that plan while the table grows.
        ("enable_seqscan", "off", 0),
        ("enable_bitmapscan", "off", 0),
        ("enable_hashjoin", "off", 0),
        ("enable_mergejoin", "off", 0),
        // A plan that it was told to avoid, and has no other for, counts as costly enough to be compiled.
        ("jit", "off", 0),
        // A connection that waits for work, and one that listens.
        ("idle_session_timeout", "0", 140_000),
        // Its statements have their own limit.
        ("transaction_timeout", "0", 170_000),
    ]
    /// For a statement that is a transaction of its own. It must come before any query.
    static let isolation = Statement("", "SET LOCAL transaction_isolation = 'read committed'")

    /// Shorter than the callers' deadlines, so that the connection stays usable.
    var lockMs: UInt64 = 700
    /// Of one statement.
    var statementMs: UInt64 = 15_000
    /// Between two statements of a transaction; 0 for no limit.
    var idleMs: UInt64 = 15_000

    /// `version`: as the server says, 150000 for 15.0.
    func statement(_ version: Int, ofTransaction isLocal: Bool) -> Statement {
        func call(_ name: String, _ value: String) -> String {
            "set_config('\(name)', '\(value)', \(isLocal))"
        }
        var calls = [
            call("lock_timeout", "\(lockMs)ms"), call("statement_timeout", "\(statementMs)ms"),
            call("idle_in_transaction_session_timeout", "\(idleMs)ms"),
        ]
        calls += Self.settings.filter { $0.since <= version }.map { call($0.name, $0.value) }
        // Lets a busy or waiting server process notice that its client is gone. Only some systems support it.
        if version >= 140_000 {
            let call = call("client_connection_check_interval", "1s")
            calls.append("CASE WHEN version() LIKE '%linux%' THEN \(call) END")
        }
        return Statement("", "SELECT \(calls.joined(separator: ", "))")
    }
}
