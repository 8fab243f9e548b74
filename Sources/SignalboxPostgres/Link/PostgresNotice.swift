/// Why the database does not take events.
public enum PostgresOutageCause: String, Sendable, CaseIterable {
    /// It cannot be reached.
    case away
    /// It did not store an event within a second, or somebody holds a lock.
    case slow
    /// It has no room.
    case full
    /// Another gateway with this one's name uses it.
    case nameTaken
    /// It refuses a statement.
    case failed
}

/// What a store on PostgreSQL notices by itself.
public enum PostgresNotice: Sendable {
    /// The database takes no events, or not all, and why; also if another reason comes that needs somebody.
    case began(PostgresOutageCause, String)
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
