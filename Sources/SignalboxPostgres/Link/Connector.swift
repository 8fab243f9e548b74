internal import SignalboxThreads

/// Opens connections on separate threads, so that callers can stop waiting at their deadlines.
///
/// libpq blocks while a resolver is slow, and for seconds per host that does not answer. `PQconnectPoll` is no help: it
/// asks the resolver in the same way, and leaves the time limit of each host to its caller.
///
/// Used by one thread at a time.
final class Connector {
    private typealias Attempt = Gate<Result<Lent<PostgresLink>, PostgresFault>?>

    private static let settingsMaxNs: UInt64 = 5_000_000_000

    private let address: PostgresAddress
    private let usesNames: Bool
    /// Continues after its caller's deadline; the next caller gets its result.
    private var attempt: Attempt?

    init(_ address: PostgresAddress, usesNames: Bool) {
        self.address = address
        self.usesNames = usesNames
    }

    /// A connection; nil if the attempt is still running at the deadline.
    func link(byNs deadlineNs: UInt64) throws(PostgresFault) -> PostgresLink? {
        let current = attempt ?? start()
        attempt = current
        let isOver = current.wait(until: { result -> (result: Bool?, wakeNs: UInt64?) in
            if result != nil { return (true, nil) }
            return SystemClock.monotonicNs >= deadlineNs ? (false, nil) : (nil, deadlineNs)
        })
        guard isOver, let result = current.update({ $0 }) else { return nil }
        attempt = nil
        return try result.get().value
    }

    private func start() -> Attempt {
        let attempt = Attempt(nil)
        let (address, usesNames) = (address, usesNames)
        SystemThread.start("sbx-wait") {
            let result = Result { () throws(PostgresFault) in
                Lent(try Self.open(address, usesNames: usesNames))
            }
            attempt.updateAll { $0 = result }
        }
        return attempt
    }

    private static func open(
        _ address: PostgresAddress, usesNames: Bool
    ) throws(PostgresFault) -> PostgresLink {
        let made = try PostgresLink(address, usesNames: usesNames)
        let limits = Limits().statement(made.serverVersion, ofTransaction: !usesNames)
        if usesNames {
            _ = try made.run(limits, byNs: SystemClock.monotonicNs + Self.settingsMaxNs)
        } else {
            made.limits = limits
        }
        return made
    }
}

/// Hands a value that is used by one thread at a time to that thread.
///
/// `@unchecked Sendable`: the giver no longer uses it.
struct Lent<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
