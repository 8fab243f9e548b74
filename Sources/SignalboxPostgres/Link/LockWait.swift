internal import SignalboxThreads

/// A start or a command that waits for locks: it reports the wait, and gives up after a while.
final class LockWait {
    /// How long a start waits. Its supervisor starts it again.
    static let startMs: UInt64 = 20_000
    /// How long a command waits that only looks.
    static let lookMs: UInt64 = 2_000

    /// How long the server waits for a lock before this looks up its holder.
    let stepMs: UInt64
    private let maxMs: UInt64
    private let tell: (String) -> Void
    private var endNs: UInt64?

    init(maxMs: UInt64, tell: @escaping (String) -> Void = { _ in }) {
        self.maxMs = maxMs
        stepMs = min(1_000, maxMs)
        self.tell = tell
    }

    /// A lock was not to be had. Returns whether to try again.
    func goesOn(_ link: PostgresLink) -> Bool {
        let now = SystemClock.monotonicNs
        if let endNs { return now < endNs }
        endNs = now + (maxMs - stepMs) * 1_000_000
        guard maxMs > stepMs else { return false }
        tell(Self.words(link))
        return true
    }

    /// Who holds locks that keep others waiting.
    static func words(_ link: PostgresLink) -> String {
        let holders = try? link.run(
            holders, byNs: SystemClock.monotonicNs + lookMs * 1_000_000)
        guard let holders, holders.count > 0 else { return "another session holds a lock" }
        let all = (0..<holders.count).map { row in
            let name = holders.text(row, 1).isEmpty ? "" : " (\(holders.text(row, 1)))"
            return "server process \(holders.number(row, 0))\(name) holds \(holders.text(row, 2))"
        }
        return all.joined(separator: "; ")
    }

    /// Locks of tables that exclude what a gateway does. Names of applications are for everybody to see.
    private static let holders = Statement(
        "",
        """
        SELECT l.pid::bigint, coalesce(a.application_name, ''),
          string_agg(DISTINCT l.mode || ' on ' || n.nspname || '.' || c.relname, ', ')
        FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE n.nspname = 'signalbox' AND l.granted AND l.pid <> pg_backend_pid()
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        GROUP BY 1, 2 ORDER BY 1 LIMIT 4
        """)
}
