public import SignalboxCore

/// `gateway.dead`: which dead letters are kept, and for how long.
public struct DeadSettings: Sendable, Hashable {
    /// How many are kept, and for how long.
    public var limits = DeadLimits()
    /// Whether deliveries whose token is dead are kept, too.
    public var keepsUnregistered = false

    private static let keep: ClosedRange<UInt64> = 60_000...400 * 86_400_000

    /// The defaults.
    public init() {}

    /// Reads a length of time, or a map.
    static func read(_ map: MapReader, _ diagnostics: Diagnostics) -> DeadSettings {
        var out = DeadSettings()
        guard let value = map["dead"] else { return out }
        guard case .map = value.kind else {
            if let ms = map.duration("dead", in: keep) { out.limits.keepMs = ms }
            return out
        }
        guard let inner = MapReader(value, owner: "gateway.dead", .dead, diagnostics) else {
            return out
        }
        if let ms = inner.duration("keep", in: keep) { out.limits.keepMs = ms }
        if let count = inner.integer("letters", in: 1...10_000_000) {
            out.limits.countMax = Int(count)
        }
        if let value = inner["unregistered"] {
            if case .bool(let flag) = value.kind {
                out.keepsUnregistered = flag
            } else {
                inner.report("wrong-type", at: value, "unregistered must be true or false")
            }
        }
        return out
    }
}
