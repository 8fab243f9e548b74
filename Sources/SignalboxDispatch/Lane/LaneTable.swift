public import SignalboxCore
internal import Synchronization

/// The lanes of a gateway; one is made when the first delivery of its sender and app comes by.
public final class LaneTable: Sendable {
    private enum Entry {
        case ready(Lane)
        /// The plugin is being asked where to connect.
        case making
    }

    private struct State {
        var entries: [LaneKey: Entry] = [:]
        /// Why lanes could not be made.
        var refusals: [LaneKey: String] = [:]
        var nextNumber = 1
        /// Counts removals: what was being made then was made for instances that are gone.
        var epoch = 0
    }

    private let state = Mutex(State())
    private let make: @Sendable (LaneKey, Int, LaneTable) async throws -> Lane
    private let onRefused: @Sendable (LaneKey, any Error, LaneTable) -> Void

    /// Makes an empty table. `make` makes a lane, with an unused number; `onRefused` hears why it could not.
    public init(
        make: @escaping @Sendable (LaneKey, Int, LaneTable) async throws -> Lane,
        onRefused: @escaping @Sendable (LaneKey, any Error, LaneTable) -> Void
    ) {
        self.make = make
        self.onRefused = onRefused
    }

    /// All lanes that are ready.
    public var all: [Lane] {
        state.withLock { state in
            state.entries.values.compactMap { entry in
                if case .ready(let lane) = entry { lane } else { nil }
            }
        }
    }

    /// Lanes that cannot be made for now, and why.
    public var refusals: [LaneKey: String] { state.withLock { $0.refusals } }

    /// A lane that is ready, or nil.
    public func lane(_ key: LaneKey) -> Lane? {
        state.withLock { state in
            if case .ready(let lane) = state.entries[key] { lane } else { nil }
        }
    }

    /// Makes a lane ahead of its first delivery.
    public func open(_ key: LaneKey) async throws {
        while true {
            let epoch = state.withLock { $0.epoch }
            let lane = try await make(key, nextNumber(), self)
            if enter(lane, key, madeIn: epoch) { return }
            await lane.stop()
        }
    }

    /// False: the instances have changed while the lane was made.
    private func enter(_ lane: Lane, _ key: LaneKey, madeIn epoch: Int) -> Bool {
        state.withLock { state in
            guard state.epoch == epoch else { return false }
            state.entries[key] = .ready(lane)
            state.refusals[key] = nil
            return true
        }
    }

    /// Something of a lane waits on disk: tells the lane, and makes it if it is missing.
    public func backlog(_ key: LaneKey) {
        if let lane = lane(key) {
            lane.backlog()
            return
        }
        let isFirst = state.withLock { state in
            guard state.entries[key] == nil else { return false }
            state.entries[key] = .making
            return true
        }
        // Once per sender and app, not per delivery.
        if isFirst { Task { await self.makeLane(key) } }
    }

    private func makeLane(_ key: LaneKey) async {
        do {
            try await open(key)
            lane(key)?.backlog()
        } catch {
            // Asked again for the next delivery: the plugin may know the app by then.
            state.withLock { state in
                state.entries[key] = nil
                state.refusals[key] = "\(error)"
            }
            onRefused(key, error, self)
        }
    }

    /// Takes lanes out, so that the next delivery makes new ones.
    public func remove(where isWanted: (LaneKey) -> Bool) -> [Lane] {
        state.withLock { state in
            state.epoch += 1
            state.refusals = state.refusals.filter { !isWanted($0.key) }
            let keys = state.entries.keys.filter(isWanted)
            return keys.compactMap { key in
                guard case .ready(let lane) = state.entries[key] else { return nil }
                state.entries[key] = nil
                return lane
            }
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
    }
}
