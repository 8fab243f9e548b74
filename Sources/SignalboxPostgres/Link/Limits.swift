/// How long the server lets a connection wait for locks, work and be idle, so that no process of it stays behind when
/// this one is gone or has lost its patience.
struct Limits {
    /// Shorter than the patience of whoever waits, so that the connection stays of use.
    var lockMs: UInt64 = 700
    /// Of one statement.
    var statementMs: UInt64 = 15_000
    /// Between two statements of a transaction; 0: as long as it likes.
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
        // A server process that waits or works notices then that nobody listens any more. Not every system can.
        if version >= 140_000 {
            let call = call("client_connection_check_interval", "1s")
            calls.append("CASE WHEN version() LIKE '%linux%' THEN \(call) END")
        }
        return Statement("", "SELECT \(calls.joined(separator: ", "))")
    }
}
