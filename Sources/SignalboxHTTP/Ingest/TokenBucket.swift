/// A token bucket: so many requests per second on average, and those of two seconds at once.
public struct TokenBucket: Sendable {
    private static let burstSeconds = 2.0
    private var tokens: Double
    private var lastNs: UInt64

    /// A full bucket; `nowNs`: of the monotonic clock.
    public init(perSecond: Int, nowNs: UInt64) {
        tokens = Double(perSecond) * Self.burstSeconds
        lastNs = nowNs
    }

    /// Takes a token; else the seconds after which there is one again.
    public mutating func take(perSecond: Int, nowNs: UInt64) -> Int? {
        fill(perSecond, nowNs)
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return max(1, Int(((1 - tokens) / Double(perSecond)).rounded(.up)))
    }

    /// It forgets nothing if it is dropped now.
    mutating func isFull(perSecond: Int, nowNs: UInt64) -> Bool {
        fill(perSecond, nowNs)
        return tokens >= Double(perSecond) * Self.burstSeconds
    }

    private mutating func fill(_ perSecond: Int, _ nowNs: UInt64) {
        let seconds = Double(nowNs - min(nowNs, lastNs)) / 1_000_000_000
        lastNs = max(lastNs, nowNs)
        tokens = min(
            Double(perSecond) * Self.burstSeconds, tokens + seconds * Double(perSecond))
    }
}

/// Token buckets by name; a bounded number.
public struct TokenBuckets: Sendable {
    private let countMax: Int
    private var all: [String: TokenBucket] = [:]

    /// Remembers at most so many names.
    public init(countMax: Int) { self.countMax = countMax }

    /// Takes a token of a name's bucket; else the seconds after which there is one again.
    public mutating func take(_ name: String, perSecond: Int, nowNs: UInt64) -> Int? {
        if let wait = all[name]?.take(perSecond: perSecond, nowNs: nowNs) { return wait }
        guard all[name] == nil else { return nil }
        if all.count >= countMax {
            all = all.filter { entry in
                var bucket = entry.value
                return !bucket.isFull(perSecond: perSecond, nowNs: nowNs)
            }
            // More names are busy than fit: all begin anew.
            if all.count >= countMax { all = [:] }
        }
        var bucket = TokenBucket(perSecond: perSecond, nowNs: nowNs)
        let wait = bucket.take(perSecond: perSecond, nowNs: nowNs)
        all[name] = bucket
        return wait
    }
}
