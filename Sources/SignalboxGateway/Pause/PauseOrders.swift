package import Logging
package import SignalboxCore
package import SignalboxDispatch
package import SignalboxObservability
package import SignalboxThreads
internal import Synchronization

/// What operators have paused and cancelled, stored so that it survives restarts and applies to a whole fleet.
package final class PauseOrders: Sendable {
    /// The instance name it is stored under; no plugin can have it.
    private static let instance = "#paused"
    /// How often a gateway checks for pauses made by others, in milliseconds.
    private static let lookMs: UInt64 = 1_000

    private struct State {
        var entries: [String: PauseEntry] = [:]
        var cancelled: [String: CancelEntry] = [:]
        var forgotten = ForgottenUsers()
        /// The version of the forgotten users that was last read.
        var forgottenStamp: [UInt8]?
        /// The number of changes started here: a read that began before the last one is outdated.
        var changes = 0
    }

    private let store: any GatewayStore
    private let alarms: AlarmClock
    private let logger: Logger
    /// The gauge of what is paused.
    private let gauge: Gauges
    private let clock: @Sendable () -> UInt64
    private let state = Mutex(State())

    package init(
        _ store: any GatewayStore, alarms: AlarmClock, logger: Logger, gauge: Gauges,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.store = store
        self.alarms = alarms
        self.logger = logger
        self.gauge = gauge
        self.clock = clock
    }

    /// In order of kind and name.
    package var all: [PauseEntry] {
        state.withLock { $0.entries.values.sorted { $0.key < $1.key } }
    }

    /// Orders to cancel, oldest first.
    package var cancelled: [CancelEntry] {
        state.withLock {
            $0.cancelled.values.sorted {
                ($0.order.beforeUnixMs, $0.id) < ($1.order.beforeUnixMs, $1.id)
            }
        }
    }

    /// Users whose deliveries are ended instead of sent.
    package var forgotten: ForgottenUsers { state.withLock { $0.forgotten } }

    /// The pause of a lane's sender; nil if it is not paused. Reports about devices are never paused.
    package func entry(of lane: LaneKey) -> PauseEntry? {
        guard lane.kind == .push else { return nil }
        return state.withLock { $0.entries[PauseEntry.key(.sender, lane.sender)] }
    }

    /// The pauses of a lane. Reports about devices are never paused: they tell plugins what has already happened.
    package func order(for lane: LaneKey) -> LanePause {
        guard lane.kind == .push else { return LanePause() }
        return state.withLock { state in
            guard
                !state.entries.isEmpty || !state.cancelled.isEmpty || state.forgotten.count > 0
            else { return LanePause() }
            let cancelled = state.cancelled.values.filter {
                $0.order.sender.map { $0 == lane.sender } ?? true
            }
            let routes = state.entries.values.filter { $0.kind == .route }
            var pause = LanePause(
                whole: state.entries[PauseEntry.key(.sender, lane.sender)]?.note,
                routes: Dictionary(routes.map { ($0.name, $0.note) }) { $1 },
                cancelled: cancelled.sorted { $0.id < $1.id }.map(\.order))
            pause.forgotten = state.forgotten
            return pause
        }
    }

    // MARK: Changes

    /// What a pause changed.
    package enum Change {
        /// It was not paused.
        case paused
        /// It was already paused; only the reason is new.
        case reason
        case none
    }

    /// Pauses something. If it was already paused, its start stays, and the new reason and its author are stored.
    package func pause(_ entry: PauseEntry) async throws(StoreFailure) -> Change {
        guard let known = state.withLock({ $0.entries[entry.key] }) else {
            try await set(entry.key, entry)
            return .paused
        }
        guard !entry.note.reason.isEmpty, entry.note.reason != known.note.reason else {
            return .none
        }
        var note = entry.note
        note.sinceUnixMs = known.note.sinceUnixMs
        try await set(entry.key, PauseEntry(kind: entry.kind, name: entry.name, note: note))
        return .reason
    }

    /// Resumes something; false if it is not paused.
    package func resume(
        _ kind: PauseEntry.Kind, _ name: String, by note: PauseNote
    ) async throws(StoreFailure) -> Bool {
        let key = PauseEntry.key(kind, name)
        guard state.withLock({ $0.entries[key] }) != nil else { return false }
        try await set(key, nil, by: note)
        return true
    }

    /// Adds a cancel order; false if there are too many.
    package func cancel(_ entry: CancelEntry) async throws(StoreFailure) -> Bool {
        guard state.withLock({ $0.cancelled.count }) < CancelEntry.countMax else { return false }
        try await store(entry.key, entry.json, forMs: CancelEntry.keptMs)
        state.withLock { state in
            state.cancelled[entry.key] = entry
            state.changes += 1
        }
        note(entry)
        return true
    }

    /// Ends all deliveries of a user received until now; false if there are too many such orders.
    package func forget(_ user: UserKey) async throws(StoreFailure) -> Bool {
        let now = clock()
        let (seed, isRoom) = state.withLock { state in
            state.forgotten.removeAll(beforeUnixMs: now - min(now, CancelEntry.keptMs))
            return (state.forgotten.seed, state.forgotten.count < ForgottenEntry.countMax)
        }
        guard isRoom else { return false }
        let entry = ForgottenEntry(user, seed: seed, beforeUnixMs: now + 1)
        try await store(
            entry.key, entry.json, in: ForgottenEntry.instance, forMs: CancelEntry.keptMs)
        // Other gateways read all entries when this stamp changes.
        let stamp = "\(now) \(entry.key)"
        try await store(ForgottenEntry.stampKey, .string(stamp), forMs: CancelEntry.keptMs)
        state.withLock { state in
            state.forgotten.add(entry.mark, beforeUnixMs: entry.beforeUnixMs)
            state.changes += 1
        }
        return true
    }

    /// Removes cancel orders that name a user, whose deliveries are ended anyway.
    package func removeOrders(about user: String) async throws(StoreFailure) {
        let keys = state.withLock { state in
            state.cancelled.filter { $0.value.order.user?.hasSameBytes(as: user) ?? false }
                .map(\.key)
        }
        for key in keys {
            try await store(key, nil)
            state.withLock { state in
                state.cancelled[key] = nil
                state.changes += 1
            }
        }
    }

    private func store(
        _ key: String, _ json: JSONValue?, in instance: String = instance, forMs: UInt64? = nil
    ) async throws(StoreFailure) {
        let result = await withCheckedContinuation { continuation in
            store.set(
                instance: instance, key: key, value: json.map { Array($0.text.utf8) },
                forMs: forMs
            ) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    private func set(
        _ key: String, _ entry: PauseEntry?, by resumer: PauseNote? = nil
    ) async throws(StoreFailure) {
        try await store(key, entry?.json)
        let before = state.withLock { state in
            defer { state.entries[key] = entry }
            state.changes += 1
            return state.entries[key]
        }
        note(before, entry, by: resumer)
    }

    // MARK: The store

    /// What is paused in a store that no gateway is using.
    package static func entries(in store: any KeyValueStore) async throws(StoreFailure)
        -> [PauseEntry]
    {
        let found = try await values(instance, in: store)
        return found.compactMap { PauseEntry(key: $0.key, $0.value) }.sorted { $0.key < $1.key }
    }

    /// Reads what is paused; must succeed before anything is sent.
    package func load() async throws(StoreFailure) {
        _ = try await read()
    }

    /// Polls for pauses made by other gateways from now on; `onChange` is called for each change.
    func watch(_ onChange: @escaping @Sendable () -> Void) {
        alarms.after(ms: Self.lookMs) { [weak self] in
            guard let self else { return }
            guard store.isShared else { return watch(onChange) }
            Task {
                // A failed read is repeated a second later.
                if (try? await self.read()) == true { onChange() }
                self.watch(onChange)
            }
        }
    }

    /// Returns whether anything changed.
    private func read() async throws(StoreFailure) -> Bool {
        let changes = state.withLock { $0.changes }
        let found = try await Self.values(Self.instance, in: store)
        let isNew = try await readForgotten(stamp: found[ForgottenEntry.stampKey])
        let paused = found.compactMap { PauseEntry(key: $0.key, $0.value) }
        let now = Dictionary(paused.map { ($0.key, $0) }) { $1 }
        let orders = found.compactMap { CancelEntry(key: $0.key, $0.value) }
        let cancelled = Dictionary(orders.map { ($0.key, $0) }) { $1 }
        let before = state.withLock { state -> State? in
            guard state.changes == changes else { return nil }
            defer { (state.entries, state.cancelled) = (now, cancelled) }
            return state
        }
        guard let before, before.entries != now || before.cancelled != cancelled else {
            return isNew
        }
        for key in Set(before.entries.keys).union(now.keys).sorted() {
            note(before.entries[key], now[key])
        }
        for (key, entry) in cancelled where before.cancelled[key] == nil { note(entry) }
        return true
    }

    /// Reads users that other gateways have forgotten; returns whether there are new ones.
    private func readForgotten(stamp: [UInt8]?) async throws(StoreFailure) -> Bool {
        guard let stamp, stamp != state.withLock({ $0.forgottenStamp }) else { return false }
        let found = try await Self.values(ForgottenEntry.instance, in: store)
        return state.withLock { state in
            let before = state.forgotten
            for entry in found.compactMap({ ForgottenEntry(key: $0.key, $0.value) }) {
                state.forgotten.add(entry.mark, beforeUnixMs: entry.beforeUnixMs)
            }
            let now = clock()
            state.forgotten.removeAll(beforeUnixMs: now - min(now, CancelEntry.keptMs))
            state.forgottenStamp = stamp
            return state.forgotten != before
        }
    }

    private static func values(
        _ instance: String, in store: any KeyValueStore
    ) async throws(StoreFailure) -> [String: [UInt8]] {
        let result = await withCheckedContinuation { continuation in
            store.values(instance: instance) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    private func note(_ entry: CancelEntry) {
        var fields: Logger.Metadata = ["by": "\(entry.by)"]
        if let sender = entry.order.sender { fields["plugin.instance"] = "\(sender)" }
        if let route = entry.order.route { fields["route.name"] = "\(route)" }
        if let event = entry.order.eventID { fields["event.id"] = "\(event)" }
        logger.notice("cancelled, what waits is not sent", metadata: fields)
    }

    /// `resumer`: nil if another gateway was asked, which logs it itself.
    private func note(_ before: PauseEntry?, _ after: PauseEntry?, by resumer: PauseNote? = nil) {
        guard before != after, let entry = after ?? before else { return }
        gauge.set(after == nil ? 0 : 1, entry.kind.rawValue, entry.name)
        var fields: Logger.Metadata = [entry.kind.field: "\(entry.name)"]
        if after != nil {
            fields["by"] = "\(entry.note.by)"
            fields["address"] = "\(entry.note.address)"
            fields["reason"] = "\(entry.note.reason)"
            logger.notice("paused, its deliveries wait", metadata: fields)
        } else {
            let now = clock()
            fields["paused_ms"] = "\(now - min(now, entry.note.sinceUnixMs))"
            if let resumer {
                fields["by"] = "\(resumer.by)"
                fields["address"] = "\(resumer.address)"
            }
            logger.notice("resumed", metadata: fields)
        }
    }
}

extension LaneTable {
    /// Tells all lanes what is paused.
    package func applyPauses(_ pauses: PauseOrders) {
        for lane in all { lane.pause(pauses.order(for: lane.key)) }
    }
}
