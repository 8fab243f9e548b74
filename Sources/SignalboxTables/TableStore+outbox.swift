public import SignalboxCore
internal import Synchronization

/// What a store knows of its outbox.
public final class OutboxState: Sendable {
    /// Is told when reports were written.
    public let watcher = Watcher<Void>()
    /// Entries that were read and not removed.
    private let read = Mutex<Set<Int64>>([])

    /// Nothing was read.
    public init() {}

    func set(_ ids: some Sequence<Int64>) { read.withLock { $0 = Set(ids) } }

    func ids(through last: UInt64) -> [Int64] {
        read.withLock { read in read.filter { $0 <= Int64(clamping: last) } }.sorted()
    }
}

/// The outbox.
extension TableStore {
    /// The oldest reports; those that cannot be read are removed, since they would be the oldest for good.
    public func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) {
        read(.gateway) { link in
            let found = try OutboxTable.read(max: max, link)
            self.outboxState.set(found.map(\.id))
            return found
        } done: { result in
            let found = (try? result.get()) ?? []
            let damaged = found.filter { $0.entry == nil }.map(\.id)
            guard !damaged.isEmpty else {
                return done(result.map { $0.compactMap(\.entry) })
            }
            for id in damaged { self.damage.note("outbox", id) }
            self.write(.gateway) {
                try OutboxTable.remove(damaged, $0)
            } done: { removed in
                switch removed {
                case .success: self.outbox(max: max, done: done)
                case .failure(let failure): done(.failure(failure))
                }
            }
        }
    }

    /// Everything up to this entry is in the queue.
    ///
    /// Removes only what was read: an entry with a lower id may be committed after one with a higher id.
    public func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let ids = outboxState.ids(through: id)
        write(.gateway, { try OutboxTable.remove(ids, $0) }, done: done)
    }

    /// Calls back when reports were written, by this gateway or another one.
    public func watchOutbox(_ onReport: @escaping @Sendable () -> Void) {
        outboxState.watcher.set { _ in onReport() }
    }
}
