public import SignalboxCore
internal import Synchronization

/// All that a storage in memory holds, for a copy.
///
/// The mark of an unfinished copy keeps no store from opening it.
public final class MemoryContents: StoreContents {
    private static let pageMax = 3
    private let storage: MemoryStorage
    /// What people see.
    public let place = "memory"

    /// Takes the contents of a storage that no store uses.
    public init(_ storage: MemoryStorage) { self.storage = storage }

    /// The owners and how often each started.
    public func identity() throws -> String {
        storage.state.withLock { state in
            state.epochs.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
                .joined(separator: ", ")
        }
    }

    /// How many records there are.
    public func counts() throws -> [StoredKind: Int] {
        var out: [StoredKind: Int] = [:]
        for kind in StoredKind.allCases.dropFirst() {
            out[kind] = records(kind).reduce(0) {
                if case .outcomes(let row, _) = $1 { $0 + row.count } else { $0 + 1 }
            }
        }
        return out
    }

    /// The records of a kind that follow a place.
    public func page(_ kind: StoredKind, after: String) throws -> StorePage {
        let first = Int(after) ?? 0
        let all = records(kind)
        var page = StorePage(after: after)
        page.records = Array(all.dropFirst(first).prefix(Self.pageMax))
        page.end = "\(first + page.records.count)"
        page.isLast = first + page.records.count == all.count
        return page
    }

    private func records(_ kind: StoredKind) -> [StoredRecord] {
        storage.state.withLock { state in
            switch kind {
            case .numbers:
                [
                    .numbers(
                        StoredNumbers(
                            seed: state.queue.seed, lastID: state.queue.lastID,
                            lastReport: state.outbox.lastID, nextOutcome: state.outcomes.next,
                            lastRegistration: state.registry.lastRegistration))
                ]
            case .devices: state.registry.storedDevices.map { .device($0) }
            case .badges: state.registry.storedBadges.map { .badge($0.user, $0.number) }
            case .values:
                state.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, value in
                    .value(
                        instance: key[0], key: key[1], bytes: value.bytes,
                        untilUnixMs: value.untilUnixMs == .max ? nil : value.untilUnixMs)
                }
            case .seen:
                state.queue.seen.sorted { $0.key < $1.key }
                    .map { .seen($0.key, untilUnixMs: $0.value) }
            case .waiting: state.queue.storedEntries.map { .delivery($0) }
            case .dead: state.queue.storedDead.map { .delivery($0) }
            case .reports: state.outbox.entries.map { .report($0) }
            case .receivers:
                state.outcomes.receivers.sorted { $0.key < $1.key }
                    .map { .receiver($0.key, next: $0.value) }
            case .outcomes: state.outcomes.stored.map { .outcomes($0.row, unixMs: $0.unixMs) }
            }
        }
    }

    /// How far the copy into this storage has come.
    public func mark() throws -> CopyMark? { storage.state.withLock { $0.mark } }

    /// The last mark of the copy that made this storage.
    public func finished() throws -> CopyMark? { storage.state.withLock { $0.finishedCopy } }

    /// Adds records and replaces the mark.
    public func write(
        _ records: [StoredRecord], mark: CopyMark?, replacing old: CopyMark?
    ) throws {
        try storage.state.withLock { state in
            guard state.mark == old else {
                throw StoreError("store-in-use", "another copy writes into \(place)")
            }
            state.mark = mark
            if mark == nil { state.finishedCopy = old }
            for record in records { state.add(record) }
        }
    }

    /// Does nothing.
    public func close() {}
}

extension MemoryStorage.State {
    mutating func add(_ record: StoredRecord) {
        switch record {
        case .numbers(let numbers):
            queue.seed = numbers.seed
            queue.lastID = numbers.lastID
            outbox.lastID = numbers.lastReport
            outcomes.restore(next: numbers.nextOutcome)
            registry.restore(lastRegistration: numbers.lastRegistration)
        case .device(let device): registry.restore(device)
        case .badge(let user, let number): registry.restore(number, of: user)
        case .value(let instance, let key, let bytes, let until):
            values[[instance, key]] = (bytes, until ?? .max)
        case .seen(let key, let until): queue.remember(key, untilUnixMs: until)
        case .delivery(let delivery): queue.restore(delivery)
        case .report(let entry): outbox.restore(entry)
        case .receiver(let name, let next): outcomes.restore(name, next: next)
        case .outcomes(let row, let unixMs): outcomes.restore(row, unixMs: unixMs)
        }
    }
}
