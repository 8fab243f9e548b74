internal import SignalboxCore

/// The senders and apps that `/readyz`, the admin page and `top` list: those in trouble first, then what is paused.
struct ShownSenders {
    /// Apps come from events, so there may be any number of them.
    static let rowsMax = 200
    private static let calm: Set = ["connected", "connecting", "idle"]

    let rows: [JSONValue]
    private let troubled: Int
    private let omitted: Int

    /// Rows keep their order within each kind.
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

    /// How many are in trouble, and how many are not listed if any.
    var counts: [JSONValue.Member] {
        [.init("senders_troubled", .integer(Int64(troubled)))]
            + (omitted > 0 ? [.init("senders_omitted", .integer(Int64(omitted)))] : [])
    }

    /// What a list of them says above it, if it is not all; nil: it is.
    static func note(_ readiness: JSONValue) -> String? {
        guard let omitted = readiness["senders_omitted"]?.integer else { return nil }
        let troubled = readiness["senders_troubled"]?.integer ?? 0
        let all = rowsMax + Int(omitted)
        return "\(rowsMax) of \(all) senders and apps, \(troubled) in trouble come first"
    }
}
