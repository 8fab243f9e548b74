internal import SignalboxCore
internal import Synchronization

/// The lanes of a gateway; one is made when the first delivery of its sender and app comes by.
final class LaneTable: Sendable {
    /// Names a lane.
    struct Key: Hashable, Sendable {
        var sender: String
        var app: String

        init(sender: String, app: String) {
            self.sender = sender
            self.app = app
        }

        init(_ delivery: Delivery) {
            self.init(sender: delivery.sender, app: delivery.device.app)
        }
    }

    private enum Entry {
        case ready(SenderLane)
        /// The plugin is being asked where to connect; these wait.
        case making([Delivery])
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var nextNumber = 1
    }

    private let state = Mutex(State())
    private let make: @Sendable (Key, Int) async throws -> SenderLane
    private let onRefused: @Sendable ([Delivery], Key, any Error) -> Void

    init(
        make: @escaping @Sendable (Key, Int) async throws -> SenderLane,
        onRefused: @escaping @Sendable ([Delivery], Key, any Error) -> Void
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

    /// Makes a lane ahead of its first delivery.
    func open(_ key: Key) async throws {
        let lane = try await make(key, nextNumber())
        state.withLock { $0.entries[key] = .ready(lane) }
    }

    /// Takes deliveries of one lane in.
    func append(_ deliveries: [Delivery], key: Key) {
        enum Next {
            case append(SenderLane)
            case make
            case wait
        }
        let next = state.withLock { state -> Next in
            switch state.entries[key] {
            case .ready(let lane): return .append(lane)
            case .making(let waiting):
                state.entries[key] = .making(waiting + deliveries)
                return .wait
            case nil:
                state.entries[key] = .making(deliveries)
                return .make
            }
        }
        switch next {
        case .append(let lane): lane.append(deliveries)
        case .wait: break
        // Once per sender and app, not per delivery.
        case .make: Task { await self.makeLane(key) }
        }
    }

    private func makeLane(_ key: Key) async {
        do {
            let lane = try await make(key, nextNumber())
            let waiting = state.withLock { state -> [Delivery] in
                defer { state.entries[key] = .ready(lane) }
                if case .making(let waiting) = state.entries[key] { return waiting }
                return []
            }
            lane.append(waiting)
        } catch {
            // Asked again for the next delivery: the plugin may know the app by then.
            let waiting = state.withLock { state -> [Delivery] in
                defer { state.entries[key] = nil }
                if case .making(let waiting) = state.entries[key] { return waiting }
                return []
            }
            onRefused(waiting, key, error)
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
    }
}
