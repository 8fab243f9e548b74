/// Names who holds leases: a gateway, and which of its lives.
///
/// The epoch is a fencing token. A store gives an owner a higher one at each start, and whenever it took
/// back what the owner held; what is asked for under an older one is refused.
public struct LeaseToken: Sendable, Hashable {
    /// The gateway.
    public var owner: String
    /// Grows with each life of the owner.
    public var epoch: UInt64

    /// Makes a token.
    public init(owner: String, epoch: UInt64) {
        self.owner = owner
        self.epoch = epoch
    }
}

/// What is to be leased.
public struct LeaseWish: Sendable {
    /// Most deliveries.
    public var max: Int
    /// How long the lease lasts, in milliseconds of the store's clock.
    public var forMs: UInt64
    /// For the one delivery that tries whether its provider is back: it need not be due, and one that
    /// was never tried comes first, since one that was may be what the provider fails on.
    public var isProbe: Bool

    /// Makes a wish.
    public init(max: Int, forMs: UInt64, isProbe: Bool = false) {
        self.max = max
        self.forMs = forMs
        self.isProbe = isProbe
    }
}

/// What a lease gave.
public struct StoreLease: Sendable {
    /// High priority first, then the longest due.
    public var deliveries: [Delivery] = []
    /// More are due now.
    public var hasMore = false
    /// In how many milliseconds the next one of the lane is due; nil: none waits.
    public var nextDueInMs: UInt64?
    /// Under which the deliveries are held.
    public var token: LeaseToken

    /// Nothing.
    public init(token: LeaseToken) { self.token = token }
}

/// How a lease ends.
public enum LeaseEnd: Sendable {
    /// The delivery is done.
    case delivered(UInt64)
    /// Again in so many milliseconds, after this attempt; `isFree`: the attempt counts as none.
    case retry(UInt64, afterMs: UInt64, Attempt, isFree: Bool)
    /// It is over; kept as a dead letter.
    case dead(UInt64, reason: String, Attempt)
    /// Nothing was done with it: due again at once.
    case released(UInt64)

    /// The delivery.
    public var id: UInt64 {
        switch self {
        case .delivered(let id), .retry(let id, _, _, _), .dead(let id, _, _), .released(let id):
            id
        }
    }
}

/// What of a request about leases was refused.
public struct LeaseRefusal: Sendable, Equatable {
    /// The token is outdated: everything was refused, and the caller holds nothing under it.
    public var isFenced = false
    /// Deliveries that somebody else holds, or that are not in the queue any more.
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

/// What an attempt came to, for the record.
public struct Attempt: Sendable, Hashable {
    /// 1, 2, ...
    public var number: UInt32
    /// When the outcome was known, in Unix milliseconds.
    public var unixMs: UInt64
    /// From a closed list.
    public var reason: String
    /// HTTP status or the provider's own number; 0: there was no answer.
    public var code: UInt32
    /// For people; no token, secret or body.
    public var detail: String

    /// Makes an attempt.
    public init(number: UInt32, unixMs: UInt64, reason: String, code: UInt32, detail: String) {
        self.number = number
        self.unixMs = unixMs
        self.reason = reason
        self.code = code
        self.detail = detail
    }
}
