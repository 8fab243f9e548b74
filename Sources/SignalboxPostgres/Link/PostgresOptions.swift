/// How a store on PostgreSQL is set up.
public struct PostgresOptions: Sendable {
    /// How to reach the database.
    public var address: PostgresAddress
    /// This gateway's name, unlike that of any other gateway on the database.
    public var owner: String
    /// This gateway's version, for operators.
    public var version = ""
    /// Most deliveries that may wait.
    public var waitingMax = 10_000_000
    /// Lease of a delivery that its lane takes over at commit, in milliseconds.
    public var leaseMs: UInt64 = 120_000
    /// How long an event waits for its transaction to begin, and for the statements before its commit.
    public var patienceMs: UInt64 = 1_000
    /// How long opening waits for a lock of somebody else, in milliseconds.
    public var lockMaxMs: UInt64 = LockWait.startMs
    /// Whether statements are prepared under names; false for PgBouncer in transaction mode.
    public var usesNames = true
    /// Whether gateways tell each other of new work at once; otherwise they look for it.
    public var hasNotices = true
    /// Added to the database's clock, in milliseconds; for tests.
    public var offsetMs: @Sendable () -> UInt64 = { 0 }
    /// Receives notices, on a thread of the store.
    public var onNotice: @Sendable (PostgresNotice) -> Void

    /// Makes options.
    public init(
        address: PostgresAddress, owner: String,
        onNotice: @escaping @Sendable (PostgresNotice) -> Void
    ) {
        self.address = address
        self.owner = owner
        self.onNotice = onNotice
    }
}
