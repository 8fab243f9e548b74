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

/// What a store on PostgreSQL notices by itself.
public enum PostgresNotice: Sendable {
    /// The database takes no events, or not all, and why; also if another reason comes that needs somebody.
    case began(PostgresTrouble, String)
    /// That is over: how many events were refused, and for how long.
    case ended(refused: Int, forMs: UInt64)
    /// Opening waits for the locks of others: who holds them.
    case waiting(String)
    /// What an operator may want to know.
    case info(String)
    /// The database refused something that should not fail.
    case fault(String)
    /// This gateway was fenced and has begun another life: what it held is due again.
    case renewed(String)
    /// A setting of the database under which answered events can be lost.
    case warning(String)
    /// This many deliveries could not be read.
    case damaged(count: Int, String)
    /// This many outcomes were dropped for a receiver as too old or too many.
    case outcomesLost(receiver: String, count: Int)
    /// This gateway's configuration does not name a receiver that the database knows.
    case receiverUnnamed(String)
    /// No gateway has named a receiver for a while: this many outcomes were dropped with it.
    case receiverRemoved(String, count: Int)
    /// This gateway leased deliveries whose leases another gateway had let end.
    case tookOver(count: Int, from: String)
    /// Live gateways have had different configurations for a while; which has which.
    case configurationsDiffer(String)
    /// That is over.
    case configurationsAgree
}
