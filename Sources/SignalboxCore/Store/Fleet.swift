/// The gateways that use a store, and what waits in it.
public struct Fleet: Sendable, Equatable {
    /// One of the gateways.
    public struct Member: Sendable, Equatable {
        /// Its name, unlike that of any other.
        public var name: String
        /// Its version; empty if it does not say.
        public var version: String
        /// Its configuration, as a short digest; empty if it does not say.
        public var configuration: String
        /// When it started, in Unix milliseconds of the store's clock.
        public var startedUnixMs: UInt64
        /// When it last said that it lives, in Unix milliseconds of the store's clock.
        public var heartbeatUnixMs: UInt64
        /// Whether that was when it was stopped.
        public var isStopped: Bool
        /// How many deliveries it has leased.
        public var leased: Int

        /// Makes a member.
        public init(
            name: String, version: String, configuration: String = "", startedUnixMs: UInt64,
            heartbeatUnixMs: UInt64, isStopped: Bool = false, leased: Int
        ) {
            self.name = name
            self.version = version
            self.configuration = configuration
            self.startedUnixMs = startedUnixMs
            self.heartbeatUnixMs = heartbeatUnixMs
            self.isStopped = isStopped
            self.leased = leased
        }
    }

    /// What a lane has to send.
    public struct Backlog: Sendable, Equatable {
        /// The lane.
        public var lane: LaneKey
        /// Deliveries that no gateway has leased, due or not.
        public var waiting = 0
        /// Deliveries that a gateway has leased.
        public var leased = 0
        /// When the oldest waiting delivery became due, in Unix milliseconds; nil if nothing is due, or the store
        /// does not know.
        public var oldestDueUnixMs: UInt64?

        /// An empty lane.
        public init(_ lane: LaneKey) { self.lane = lane }
    }

    /// A gateway whose last heartbeat is older is silent, in milliseconds: four heartbeats.
    public static let silentAfterMs: UInt64 = 20_000

    /// The store's clock, in Unix milliseconds.
    public var nowUnixMs: UInt64
    /// In order of their names; empty if the store serves one gateway and does not know its name.
    public var members: [Member] = []
    /// In order of their lanes. Above `lanesMax`, only non-empty lanes are listed; if these are still too many, the
    /// longest, and the rest of each sender combined as the app `other`.
    public var backlogs: [Backlog] = []
    /// Names of apps come from events, so a source may invent any number of lanes.
    public static let lanesMax = 1_000

    /// An empty fleet.
    public init(nowUnixMs: UInt64) { self.nowUnixMs = nowUnixMs }
}

extension Fleet {
    /// Takes what the lanes have.
    public mutating func set(_ all: some Collection<Backlog>) {
        var listed = Array(all)
        if listed.count > Self.lanesMax { listed.removeAll { $0.waiting == 0 && $0.leased == 0 } }
        if listed.count > Self.lanesMax {
            listed.sort { ($1.waiting, $0.lane) < ($0.waiting, $1.lane) }
            var rest: [LaneKey: Backlog] = [:]
            for one in listed.dropFirst(Self.lanesMax) {
                let lane = LaneKey(sender: one.lane.sender, app: "other", kind: one.lane.kind)
                var sum = rest[lane] ?? Backlog(lane)
                sum.waiting += one.waiting
                sum.leased += one.leased
                sum.oldestDueUnixMs = [sum.oldestDueUnixMs, one.oldestDueUnixMs].compactMap { $0 }
                    .min()
                rest[lane] = sum
            }
            listed = Array(listed.prefix(Self.lanesMax)) + rest.values
        }
        backlogs = listed.sorted { $0.lane < $1.lane }
    }

    /// What can be said of a gateway from its last heartbeat.
    public enum State: String, Sendable, CaseIterable {
        /// It is at work.
        case live
        /// It has leases and no heartbeat: it has died, hangs, or cannot reach the store.
        case silent
        /// It was stopped.
        case stopped
        /// It has neither, and was not stopped: others have taken over what it had.
        case gone
    }

    /// The state of a member.
    public func state(of member: Member) -> State {
        if member.isStopped { return .stopped }
        if age(member.heartbeatUnixMs) <= Self.silentAfterMs { return .live }
        return member.leased > 0 ? .silent : .gone
    }

    /// How many different configurations the live gateways have.
    public var configurationCount: Int {
        let live = members.filter { state(of: $0) == .live && !$0.configuration.isEmpty }
        return Set(live.map(\.configuration)).count
    }

    /// How long the oldest due delivery of a lane has been due, in milliseconds; 0 if nothing is due.
    public func lagMs(of backlog: Backlog) -> UInt64 {
        backlog.oldestDueUnixMs.map { age($0) } ?? 0
    }

    private func age(_ unixMs: UInt64) -> UInt64 { nowUnixMs - min(nowUnixMs, unixMs) }

    /// JSON for people and scripts.
    public var json: JSONValue {
        [
            "unix_ms": .integer(Int64(clamping: nowUnixMs)),
            "gateways": .array(members.map { json($0) }),
            "lanes": .array(backlogs.map { json($0) }),
        ]
    }

    private func json(_ member: Member) -> JSONValue {
        [
            "name": .string(member.name), "version": .string(member.version),
            "configuration": .string(member.configuration),
            "state": .string(state(of: member).rawValue),
            "started_unix_ms": .integer(Int64(clamping: member.startedUnixMs)),
            "heartbeat_unix_ms": .integer(Int64(clamping: member.heartbeatUnixMs)),
            "leased": .integer(Int64(member.leased)),
        ]
    }

    private func json(_ backlog: Backlog) -> JSONValue {
        [
            "sender": .string(backlog.lane.name), "app": .string(backlog.lane.app),
            "waiting": .integer(Int64(backlog.waiting)), "leased": .integer(Int64(backlog.leased)),
            "lag_ms": .integer(Int64(clamping: lagMs(of: backlog))),
        ]
    }
}

/// What a store knows about the gateways that use it.
public protocol FleetStore: Sendable {
    /// The gateways and the backlog of each lane.
    ///
    /// It may read all that waits: ask every few seconds at most.
    func fleet() async throws -> Fleet
    /// Says which configuration this gateway has, as a short digest; others see it soon.
    func setConfiguration(_ digest: String)
}
