public import SignalboxCore
internal import Synchronization

/// No sender handles an app, so its deliveries can never be sent.
public struct UnknownApp: Error, CustomStringConvertible {
    /// The plugin's message.
    public let description: String

    /// Takes the plugin's message.
    public init(_ description: String) { self.description = description }
}

/// The lanes of a gateway; one is made when the first delivery of its sender and app arrives.
public final class LaneTable: Sendable {
    private let roster: Mutex<LaneRoster<Lane>>
    private let nowMs: @Sendable () -> UInt64
    private let make: @Sendable (LaneKey, Int, LaneTable) async throws -> Lane
    private let onRefused: @Sendable (LaneKey, any Error, LaneTable) -> Void

    /// Makes an empty table of at most `countMax` lanes. `make` gets an unused number; `onRefused` hears why it failed.
    public init(
        countMax: Int = .max, nowMs: @escaping @Sendable () -> UInt64,
        make: @escaping @Sendable (LaneKey, Int, LaneTable) async throws -> Lane,
        onRefused: @escaping @Sendable (LaneKey, any Error, LaneTable) -> Void
    ) {
        roster = Mutex(LaneRoster(countMax: countMax, nowMs: nowMs()))
        self.nowMs = nowMs
        self.make = make
        self.onRefused = onRefused
    }

    /// All lanes that are ready.
    public var all: [Lane] { roster.withLock { $0.all } }

    /// Lanes that cannot be made at the moment, and why.
    public var refusals: [LaneKey: String] {
        let now = nowMs()
        return roster.withLock { $0.refusals(nowMs: now) }
    }

    /// Whether a lane could not be made.
    public func isRefused(_ key: LaneKey) -> Bool {
        let now = nowMs()
        return roster.withLock { $0.isRefused(key, nowMs: now) }
    }

    /// A lane that is ready, or nil.
    public func lane(_ key: LaneKey) -> Lane? { roster.withLock { $0.lane(key) } }

    /// Whether a lane is being made, which lasts until its plugin says where requests go.
    public func isMaking(_ key: LaneKey) -> Bool { roster.withLock { $0.isMaking(key) } }

    /// Lanes of a key that were removed and are not over yet.
    public func leaving(_ key: LaneKey) -> [Lane] {
        let known = roster.withLock { $0.leaving[key] ?? [] }
        guard !known.isEmpty else { return [] }
        let over = known.filter(\.isOver)
        roster.withLock { roster in
            roster.forget(key) { lane in over.contains { $0 === lane } }
        }
        return known.filter { lane in !over.contains { $0 === lane } }
    }

    /// Drops removed lanes that are over: nothing else frees them and their instances.
    public func forgetEnded() {
        for key in roster.withLock({ Array($0.leaving.keys) }) { _ = leaving(key) }
    }

    /// Makes a lane ahead of its first delivery.
    public func open(_ key: LaneKey) async throws {
        while let ticket = roster.withLock({ $0.begin(key) }) {
            let lane: Lane
            do {
                lane = try await make(key, ticket.number, self)
            } catch {
                let (now, isUnknown) = (nowMs(), error is UnknownApp)
                let isCurrent = roster.withLock {
                    $0.refuse(key, "\(error)", isUnknown: isUnknown, ticket, nowMs: now)
                }
                if isCurrent { throw error }
                continue
            }
            lane.doubt = roster.withLock {
                $0.doubts[key] ?? DeathDoubt(sinceMs: $0.knownSinceMs)
            }
            switch roster.withLock({ $0.enter(lane, key, ticket) }) {
            case .entered: return
            case .isTaken: return await lane.stop()
            case .isOutdated: await lane.stop()
            }
        }
    }

    /// Deliveries of a lane wait on disk: tells the lane, or makes it if it is missing.
    public func backlog(_ key: LaneKey) {
        switch roster.withLock({ $0.backlog(key) }) {
        case .tell(let lane): lane.backlog()
        // Once per sender and app, not per delivery.
        case .make: Task { await makeLane(key) }
        case .nothing: break
        }
    }

    private func makeLane(_ key: LaneKey) async {
        do {
            try await open(key)
            lane(key)?.backlog()
        } catch {
            // Retried with the next delivery: the plugin may know the app by then.
            onRefused(key, error, self)
        }
    }

    /// How many lanes wait for a place.
    public var queuedCount: Int { roster.withLock { $0.queuedCount } }

    /// Whether a lane waits for a place.
    public func isQueued(_ key: LaneKey) -> Bool { roster.withLock { $0.isQueued(key) } }

    /// Removes idle lanes and makes those that wait for a place. The caller ends the removed ones.
    public func retire(_ rested: [Lane]) {
        let (doubts, now) = (rested.map { ($0.key, $0.doubt) }, nowMs())
        let admitted = roster.withLock { roster in
            for (key, doubt) in doubts { roster.retire(key, doubt, nowMs: now) }
            return roster.admitted()
        }
        for key in admitted { backlog(key) }
    }

    /// Removes lanes, so that the next delivery makes new ones.
    public func remove(where isWanted: @Sendable (LaneKey) -> Bool) -> [Lane] {
        forgetEnded()
        let now = nowMs()
        return roster.withLock { $0.remove(nowMs: now, where: isWanted) }
    }

    /// Removes all lanes for good: no lane is made from now on.
    public func close() -> [Lane] { roster.withLock { $0.close() } }
}
