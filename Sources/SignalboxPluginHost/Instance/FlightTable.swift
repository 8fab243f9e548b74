internal import CSignalbox
internal import SignalboxCore
internal import Synchronization

/// Deliveries that a plugin with its own transport has taken and not yet settled.
final class FlightTable: Sendable {
    /// How long the plugin may keep one, in milliseconds; role/send.h documents it.
    static let outcomeMs: UInt64 = 60_000

    /// Deliveries of one `submit()`, with the memory that the plugin may read until they are settled.
    ///
    /// `@unchecked Sendable`: everything that changes is guarded by the table's lock.
    final class Batch: @unchecked Sendable {
        fileprivate let ids: [UInt64]
        fileprivate let memory: CArena
        fileprivate let onOutcomes: @Sendable ([Outcome]) -> Void
        fileprivate var open: Set<UInt64>
        fileprivate var dueMs: UInt64 = .max
        /// Outcomes that came before `submit()` returned and told which deliveries are taken.
        fileprivate var early: [Outcome]? = []

        fileprivate init(
            _ ids: [UInt64], _ memory: CArena, _ onOutcomes: @escaping @Sendable ([Outcome]) -> Void
        ) {
            self.ids = ids
            self.memory = memory
            self.onOutcomes = onOutcomes
            open = Set(ids)
        }
    }

    private struct State {
        var flights: [UInt64: Batch] = [:]
        /// Ordered by their time limits.
        var taken: [Batch] = []
        /// Past the limit.
        var overdue: [UInt64: Batch] = [:]
        /// Batches with such deliveries that were offered again since: their memory stays until the plugin is stopped,
        /// because it may still read it.
        var forgotten: [ObjectIdentifier: Batch] = [:]
        var isWatching = false
        var onRoom: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    func whenRoom(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRoom = body } }

    func credit() { state.withLock { $0.onRoom }() }

    /// Records deliveries that are about to be offered.
    func begin(
        _ ids: [UInt64], memory: CArena, onOutcomes: @escaping @Sendable ([Outcome]) -> Void
    ) -> Batch {
        let batch = Batch(ids, memory, onOutcomes)
        state.withLock { state in
            for id in ids {
                if let former = state.overdue.removeValue(forKey: id) {
                    state.forgotten[ObjectIdentifier(former)] = former
                }
                state.flights[id] = batch
            }
        }
        return batch
    }

    /// Records that `submit()` has returned.
    func submitted(_ batch: Batch, taken: Int, _ context: InstanceContext) {
        let now = context.services.steadyMs
        let left = Set(batch.ids.dropFirst(taken))
        let (early, watches) = state.withLock { state -> ([Outcome], Bool) in
            for id in left {
                state.flights[id] = nil
                batch.open.remove(id)
            }
            let early = batch.early ?? []
            batch.early = nil
            guard !batch.open.isEmpty else { return (early, false) }
            batch.dueMs = now + Self.outcomeMs
            state.taken.append(batch)
            defer { state.isWatching = true }
            return (early, !state.isWatching)
        }
        let sound = early.filter { !left.contains($0.item) }
        if sound.count < early.count {
            context.misbehaved("settled \(early.count - sound.count) deliveries it did not take")
        }
        if !sound.isEmpty { batch.onOutcomes(sound) }
        if watches { watch(context, inMs: Self.outcomeMs) }
    }

    /// Settles deliveries for the plugin. Thread: any.
    func complete(
        _ given: UnsafePointer<sbx_outcome>?, _ count: Int, _ stride: Int,
        _ context: InstanceContext
    ) {
        guard let given, count > 0 else { return }
        var faults: [String] = []
        var groups: [(batch: Batch, outcomes: [Outcome])] = []
        for index in 0..<count {
            let read = context.structs.reading("complete()") { () throws(StructFault) in
                try context.structs.read(given, index, stride: stride)
            }
            let item: UInt64
            let outcome: Outcome
            if let read {
                item = read.item
                outcome = Outcome(settling: item, read, faults: &faults)
            } else if stride >= sbx_outcome.size(minor: 0) {
                // Only its item is used: that delivery, if it is in flight, need not wait any longer.
                item = given.element(index, stride: stride).pointee.item
                outcome = Outcome(item: item, kind: .retry, reason: "plugin_bad_struct")
            } else {
                break
            }
            let batch = state.withLock { state -> Batch? in
                guard let batch = state.flights.removeValue(forKey: item) else {
                    let isLate = state.overdue.removeValue(forKey: item) != nil
                    faults.append(
                        isLate
                            ? "settled a delivery later than \(Self.outcomeMs / 1000) s after it took it"
                            : "settled a delivery that is not in flight: twice, or never taken")
                    return nil
                }
                batch.open.remove(item)
                if batch.early != nil {
                    batch.early?.append(outcome)
                    return nil
                }
                return batch
            }
            guard let batch else { continue }
            if let last = groups.last, last.batch === batch {
                groups[groups.count - 1].outcomes.append(outcome)
            } else {
                groups.append((batch, [outcome]))
            }
        }
        for group in groups { group.batch.onOutcomes(group.outcomes) }
        for fault in faults { context.misbehaved(fault) }
    }

    /// Forgets everything once the instance is gone and no longer reads the memory or settles deliveries.
    func end() {
        state.withLock { state in
            state.flights = [:]
            state.taken = []
            state.overdue = [:]
            state.forgotten = [:]
        }
    }

    private func watch(_ context: InstanceContext, inMs ms: UInt64) {
        context.services.onWorker(afterMs: ms) { [weak self, weak context] in
            guard let self, let context else { return }
            self.look(context)
        }
    }

    /// Settles deliveries that the plugin has kept too long, as retries.
    private func look(_ context: InstanceContext) {
        let now = context.services.steadyMs
        let (late, nextMs) = state.withLock { state -> ([(Batch, [UInt64])], UInt64?) in
            var late: [(Batch, [UInt64])] = []
            state.taken.removeAll { batch in
                guard !batch.open.isEmpty else { return true }
                guard batch.dueMs <= now else { return false }
                for id in batch.open {
                    state.flights[id] = nil
                    state.overdue[id] = batch
                }
                late.append((batch, batch.open.sorted()))
                return true
            }
            let next = state.taken.first?.dueMs
            state.isWatching = next != nil
            return (late, next)
        }
        for (batch, ids) in late {
            context.misbehaved("left \(ids.count) deliveries without an outcome")
            batch.onOutcomes(ids.map { Outcome(item: $0, kind: .retry, reason: "no_outcome") })
        }
        if let nextMs { watch(context, inMs: nextMs > now ? nextMs - now : 1) }
    }
}
