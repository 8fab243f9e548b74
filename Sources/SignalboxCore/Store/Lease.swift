/// Identifies the owner of leases: a gateway and its epoch.
///
/// The epoch is a fencing token. A store gives an owner a higher one at each start, and whenever it takes
/// back what the owner held. Requests under an older one are refused.
public struct LeaseToken: Sendable, Hashable {
    /// The gateway.
    public var owner: String
    /// Grows with each start of the owner.
    public var epoch: UInt64

    /// Makes a token.
    public init(owner: String, epoch: UInt64) {
        self.owner = owner
        self.epoch = epoch
    }
}

/// A request for leases.
public struct LeaseWish: Sendable {
    /// Most deliveries.
    public var max: Int
    /// How long the lease lasts, in milliseconds of the store's clock.
    public var forMs: UInt64
    /// For the one delivery that probes whether its provider has recovered: it need not be due, and one that
    /// was never tried comes first, because the provider may fail on one that was.
    public var isProbe: Bool

    /// Makes a wish.
    public init(max: Int, forMs: UInt64, isProbe: Bool = false) {
        self.max = max
        self.forMs = forMs
        self.isProbe = isProbe
    }
}

/// The answer to a lease request.
public struct StoreLease: Sendable {
    /// High priority first, then the longest due.
    public var deliveries: [Delivery] = []
    /// Whether more are due now.
    public var hasMore = false
    /// Milliseconds until the lane's next delivery is due; nil if none waits.
    public var nextDueInMs: UInt64?
    /// The token under which the deliveries are held.
    public var token: LeaseToken
    /// Of these deliveries, those whose device has left its user meanwhile: they are ended instead of sent. A store leaves
    /// it empty; the gateway asks its registry.
    public var departed: Set<UInt64> = []
    /// Of these deliveries, those that a newer one has made obsolete, which its provider accepted meanwhile.
    public var stale: [UInt64: Staleness] = [:]

    /// An empty value.
    public init(token: LeaseToken) { self.token = token }
}

/// How a lease ends.
public enum LeaseEnd: Sendable {
    /// The delivery is done. Older ones that its provider's acceptance made obsolete, and that wait for another attempt or are
    /// dead letters, are marked as stale.
    case delivered(UInt64, Supersession? = nil)
    /// Retry in `afterMs` milliseconds, after this attempt; with `isFree` the attempt does not count.
    case retry(UInt64, afterMs: UInt64, Attempt, isFree: Bool)
    /// It failed permanently; kept as a dead letter.
    case dead(UInt64, reason: String, Attempt)
    /// It was not tried, and is due again at once.
    case released(UInt64)

    /// The delivery.
    public var id: UInt64 {
        switch self {
        case .delivered(let id, _), .retry(let id, _, _, _), .dead(let id, _, _),
            .released(let id):
            id
        }
    }

    /// The same, with the owner that made the attempt.
    public func made(by owner: String) -> LeaseEnd {
        switch self {
        case .delivered, .released: return self
        case .retry(let id, let afterMs, var attempt, let isFree):
            attempt.owner = owner
            return .retry(id, afterMs: afterMs, attempt, isFree: isFree)
        case .dead(let id, let reason, var attempt):
            attempt.owner = owner
            return .dead(id, reason: reason, attempt)
        }
    }
}

/// The refused part of a request about leases.
public struct LeaseRefusal: Sendable, Equatable {
    /// The token is outdated: everything was refused, and the caller holds no leases under it.
    public var isFenced = false
    /// Deliveries that another owner holds, or that are no longer in the queue.
    public var lost: [UInt64] = []

    /// Nothing was refused.
    public init() {}

    /// Everything was refused.
    public static let fenced: LeaseRefusal = {
        var out = LeaseRefusal()
        out.isFenced = true
        return out
    }()
}
