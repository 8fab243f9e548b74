internal import Synchronization

/// Whose code a worker calls, such as an instance of a plugin.
public final class CallOwner: Sendable {
    /// Most slow calls for work that can be retried; each holds a thread.
    private static let slowMax = 16

    /// Its name.
    public let name: String
    private let slow = Atomic(0)

    /// Makes an owner without calls.
    public init(_ name: String) { self.name = name }

    /// Whether it has so many slow calls that another call would only hold another thread.
    public var isFull: Bool { slow.load(ordering: .relaxed) >= Self.slowMax }

    /// Slow calls in progress, for each of which a spare thread runs.
    package var slowCount: Int { slow.load(ordering: .relaxed) }

    func isSlow(_ delta: Int) { slow.add(delta, ordering: .relaxed) }
}

/// A kind of call, as a log line and a metric name it. One lives as long as the process.
public final class CallKind: Sendable {
    /// `ingest`, `send-http`.
    public let role: String
    /// `handle()`.
    public let name: String

    /// Names a kind.
    public init(_ role: String, _ name: String) {
        self.role = role
        self.name = name
    }
}

/// A call that takes too long.
public struct LongCall: Sendable {
    /// The name of its owner.
    public let owner: String
    /// What is called.
    public let kind: CallKind
}

/// Looks at the calls of workers.
public struct CallWatch: Sendable {
    /// How often; a call that is seen twice is slow.
    static let periodMs: UInt64 = 25
    /// A call that takes longer is reported, once.
    static let longNs: UInt64 = 1_000_000_000

    let alarms: AlarmClock
    let onLong: @Sendable (LongCall) -> Void

    /// Uses the thread of `alarms`, and calls `onLong` there for each call that takes over a second, while it does.
    public init(_ alarms: AlarmClock, onLong: @escaping @Sendable (LongCall) -> Void) {
        self.alarms = alarms
        self.onLong = onLong
    }
}

/// The call that a worker is in, as the watch sees it.
///
/// A call costs its worker three stores and an exchange: no lock, no clock, no allocation.
final class CallSlot: Sendable {
    private static let isOpen: UInt64 = 1
    private static let isSlow: UInt64 = 2

    /// The number of the call, times four, and the two bits above.
    private let state = Atomic<UInt64>(0)
    private let owner = Atomic<UInt>(0)
    private let kind = Atomic<UInt>(0)

    /// False: the worker is in a call already, and this one is a part of it.
    func begin(_ owner: CallOwner, _ kind: CallKind) -> Bool {
        let now = state.load(ordering: .relaxed)
        guard now & Self.isOpen == 0 else { return false }
        self.owner.store(Self.bits(owner), ordering: .relaxed)
        self.kind.store(Self.bits(kind), ordering: .relaxed)
        state.store(now &+ 4 | Self.isOpen, ordering: .releasing)
        return true
    }

    /// Ends the call. Returns whether it was marked as slow: then the watcher must be told.
    func end() -> Bool {
        let now = state.load(ordering: .relaxed)
        let last = state.exchange(
            now & ~(Self.isOpen | Self.isSlow), ordering: .acquiringAndReleasing)
        return last & Self.isSlow != 0
    }

    /// The number of the open call; nil if no call is open.
    var openCall: UInt64? {
        let now = state.load(ordering: .acquiring)
        return now & Self.isOpen == 0 ? nil : now >> 2
    }

    /// Marks a call as slow. False if it has ended.
    func mark(_ call: UInt64) -> Bool {
        let open = call << 2 | Self.isOpen
        return state.compareExchange(
            expected: open, desired: open | Self.isSlow, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Whose call it is; only while it is marked and cannot end.
    var owning: (owner: CallOwner, kind: CallKind)? {
        guard let owner: CallOwner = Self.object(self.owner.load(ordering: .relaxed)),
            let kind: CallKind = Self.object(self.kind.load(ordering: .relaxed))
        else { return nil }
        return (owner, kind)
    }

    private static func bits(_ object: AnyObject) -> UInt {
        UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    }

    private static func object<Object: AnyObject>(_ bits: UInt) -> Object? {
        UnsafeMutableRawPointer(bitPattern: bits).map {
            Unmanaged<Object>.fromOpaque($0).takeUnretainedValue()
        }
    }
}
