internal import SignalboxCore
internal import Synchronization

/// The lanes of a gateway; one is made when the first delivery of its sender and app comes by.
final class LaneTable: Sendable {
    private enum Entry {
        case ready(SenderLane)
        /// The plugin is being asked where to connect.
        case making
    }

    private struct State {
        var entries: [LaneKey: Entry] = [:]
        var nextNumber = 1
    }

    private let state = Mutex(State())
    private let make: @Sendable (LaneKey, Int, LaneTable) async throws -> SenderLane
    private let onRefused: @Sendable (LaneKey, any Error, LaneTable) -> Void

    init(
        make: @escaping @Sendable (LaneKey, Int, LaneTable) async throws -> SenderLane,
        onRefused: @escaping @Sendable (LaneKey, any Error, LaneTable) -> Void
    ) {
        self.make = make
        self.onRefused = onRefused
    }

    /// All lanes that are ready.
    var all: [SenderLane] {
        state.withLock { state in
            state.entries.values.compactMap { entry in
                if case .ready(let lane) = entry { lane } else { nil }
            }
        }
    }

    /// A lane that is ready, or nil.
    func lane(_ key: LaneKey) -> SenderLane? {
        state.withLock { state in
            if case .ready(let lane) = state.entries[key] { lane } else { nil }
        }
    }

    /// Makes a lane ahead of its first delivery.
    func open(_ key: LaneKey) async throws {
        let lane = try await make(key, nextNumber(), self)
        state.withLock { $0.entries[key] = .ready(lane) }
    }

    /// Something of a lane waits on disk: tells the lane, which is made if it is not there.
    func backlog(_ key: LaneKey) {
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
            let lane = try await make(key, nextNumber(), self)
            state.withLock { $0.entries[key] = .ready(lane) }
            lane.backlog()
        } catch {
            // Asked again for the next delivery: the plugin may know the app by then.
            state.withLock { $0.entries[key] = nil }
            onRefused(key, error, self)
        }
    }

    /// Takes lanes out, so that the next delivery makes new ones.
    func remove(where isWanted: (LaneKey) -> Bool) -> [SenderLane] {
        state.withLock { state in
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
