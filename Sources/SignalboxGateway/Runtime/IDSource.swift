internal import SignalboxCore
internal import Synchronization

/// Ids for new deliveries and events, from a stock reserved in the store.
package final class IDSource: Sendable {
    private struct State {
        var stock = IDStock()
        var stableIDs: StableIDs
    }

    private let store: any DeliveryQueue
    private let state: Mutex<State>

    /// Waits for the first ids.
    static func open(_ store: any DeliveryQueue) async throws(StoreFailure) -> IDSource {
        let ids = IDSource(store)
        let first = await withCheckedContinuation { continuation in
            store.reserveIDs(IDStock.partMax) { continuation.resume(returning: $0) }
        }
        let given = try first.get()
        ids.state.withLock { $0.stock.arrive(given) }
        return ids
    }

    private init(_ store: any DeliveryQueue) {
        self.store = store
        let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        state = Mutex(State(stableIDs: StableIDs(seed: seed)))
    }

    /// An id with a UUID; nil if the stock is empty.
    func next() -> (id: UInt64, stableID: String)? {
        guard var own = take(1) else { return nil }
        return own.next()
    }

    /// An id alone; nil if the stock is empty.
    package func nextID() -> UInt64? {
        let (taken, isLow) = state.withLock { ($0.stock.take(1), $0.stock.wantsMore()) }
        if isLow { refill() }
        return taken?.lowerBound
    }

    /// A run of ids; nil if the store has not reserved enough.
    func take(_ count: Int) -> DeliveryIDs? {
        let (taken, isLow) = state.withLock { state -> (DeliveryIDs?, Bool) in
            let range = state.stock.take(count)
            let own = range.map {
                DeliveryIDs(last: $0.lowerBound - 1, stableIDs: state.stableIDs.take(count))
            }
            return (own, state.stock.wantsMore())
        }
        if isLow { refill() }
        return taken
    }

    private func refill() {
        store.reserveIDs(IDStock.partMax) { result in
            // After a failure the next caller retries.
            self.state.withLock { $0.stock.arrive(try? result.get()) }
        }
    }
}
