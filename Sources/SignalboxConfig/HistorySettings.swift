internal import SignalboxCore

/// `gateway.history`: how much history is kept for `signalbox trace`.
enum HistorySettings {
    private static let keep: ClosedRange<UInt64> = 60_000...400 * 86_400_000
    private static let megabytes: ClosedRange<Int64> = 1...1_048_576

    /// Reads a length of time, a map, or false to keep nothing.
    static func read(_ map: MapReader, _ diagnostics: Diagnostics) -> HistoryLimits {
        var out = HistoryLimits()
        guard let value = map["history"] else { return out }
        switch value.kind {
        case .bool(false): return .none
        case .map:
            guard let inner = MapReader(value, owner: "gateway.history", .history, diagnostics)
            else { return out }
            if let ms = inner.duration("keep", in: keep) { out.keepMs = ms }
            if let count = inner.integer("megabytes", in: megabytes) {
                out.bytesMax = UInt64(count) << 20
            }
        default:
            if let ms = map.duration("history", in: keep) { out.keepMs = ms }
        }
        return out
    }
}
