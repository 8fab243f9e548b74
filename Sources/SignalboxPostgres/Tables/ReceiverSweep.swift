internal import SignalboxCore

/// Keeps the receivers of outcomes that some gateway of the fleet names, and removes the others.
///
/// A gateway that was started with an old file must not remove a receiver that the others have. So each gateway says
/// now and then which receivers it names, and one is removed by a gateway that has seen it unnamed at every sweep for
/// ten minutes. Sweeps are counted, not time: while the database is away nobody can name anything.
///
/// `@unchecked Sendable`: used by its connection's thread alone.
final class ReceiverSweep: @unchecked Sendable {
    /// Ten minutes of sweeps.
    static let sweepsMax = 60

    /// A receiver that this gateway does not name, and when another one last did.
    struct Unnamed: Equatable {
        var name: String
        var namedUnixMs: Int64
    }

    private let shared: SharedState
    private let onNotice: @Sendable (PostgresNotice) -> Void
    /// How many sweeps have seen them so.
    private var sweeps: [String: (receiver: Unnamed, count: Int)] = [:]

    init(_ shared: SharedState, _ onNotice: @escaping @Sendable (PostgresNotice) -> Void) {
        self.shared = shared
        self.onNotice = onNotice
    }

    private static let all = Statement(
        "outcome_receivers", "SELECT name, named FROM signalbox.outcome_receiver")

    /// Names this gateway's receivers, and reads the others.
    func look(
        _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> [Unnamed] {
        // A gateway that is starting has not said yet which it has.
        guard let own = shared.receivers else { return [] }
        OutcomeTables.name(own, transaction, nowUnixMs: nowUnixMs)
        let rows = try transaction.run(Self.all)
        return (0..<rows.count).map {
            Unnamed(name: rows.text($0, 0), namedUnixMs: rows.number($0, 1))
        }.filter { !own.contains($0.name) }
    }

    /// Removes what no gateway has named for long.
    func judge(_ unnamed: [Unnamed], _ session: Session) throws(TransactionFault) {
        let names = Set(unnamed.map(\.name))
        sweeps = sweeps.filter { names.contains($0.key) }
        for receiver in unnamed {
            let before = sweeps[receiver.name]
            if before == nil { onNotice(.receiverUnnamed(receiver.name)) }
            let count = before?.receiver == receiver ? (before?.count ?? 0) + 1 : 1
            sweeps[receiver.name] = (receiver, count)
            guard count > Self.sweepsMax else { continue }
            let lost = try session.transaction { transaction throws(TransactionFault) in
                try OutcomeTables.remove(receiver, transaction)
            }
            sweeps[receiver.name] = nil
            if let lost { onNotice(.receiverRemoved(receiver.name, count: lost)) }
        }
    }
}
