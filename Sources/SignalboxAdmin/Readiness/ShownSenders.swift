internal import SignalboxCore

/// The senders and apps listed by `/readyz`, the admin page and `top`: those in trouble first, then paused ones.
struct ShownSenders {
    /// Bounded, since apps come from events.
    static let rowsMax = 200
    private static let calm: Set = ["connected", "connecting", "idle"]

    let rows: [JSONValue]
    private let troubled: Int
    private let omitted: Int

    /// Keeps the order of rows within each kind.
    init(_ all: [JSONValue]) {
        let kinds = Dictionary(grouping: all) { row in
            switch row["state"]?.string ?? "" {
            case let state where Self.calm.contains(state): 2
            case "paused": 1
            default: 0
            }
        }
        rows = Array((0...2).flatMap { kinds[$0] ?? [] }.prefix(Self.rowsMax))
        troubled = kinds[0]?.count ?? 0
        omitted = all.count - rows.count
    }

    /// How many are in trouble, and how many are omitted, if any.
    var counts: [JSONValue.Member] {
        [.init("senders_troubled", .integer(Int64(troubled)))]
            + (omitted > 0 ? [.init("senders_omitted", .integer(Int64(omitted)))] : [])
    }

    /// The heading of an incomplete list; nil if it is complete.
    static func note(_ readiness: JSONValue) -> String? {
        guard let omitted = readiness["senders_omitted"]?.integer else { return nil }
        let troubled = readiness["senders_troubled"]?.integer ?? 0
        let all = rowsMax + Int(omitted)
        return "\(rowsMax) of \(all) senders and apps, \(troubled) in trouble come first"
    }
}
