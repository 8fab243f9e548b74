internal import SignalboxThreads
internal import Synchronization

/// What keeps the database from serving.
public enum PostgresTrouble: String, Sendable, CaseIterable {
    /// It cannot be reached: everything is refused until it can.
    case away
    /// It took longer than a second to store an event, or held a lock for that long.
    case slow
    /// It has no room: events are refused.
    case full
    /// Another gateway with this one's name uses it: this one does nothing.
    case nameTaken
}

/// The troubles of a store: each is told once when it begins and once when it is over.
final class Troubles: Sendable {
    private struct Trouble {
        var words: String
        var seenNs: UInt64
    }

    /// Slow or full is over when it was not seen for so long.
    private static let quietNs: UInt64 = 10_000_000_000

    private let current = Mutex<[PostgresTrouble: Trouble]>([:])
    private let onNotice: @Sendable (PostgresNotice) -> Void

    init(_ onNotice: @escaping @Sendable (PostgresNotice) -> Void) { self.onNotice = onNotice }

    subscript(trouble: PostgresTrouble) -> String? { current.withLock { $0[trouble]?.words } }

    /// Why the store does not work as it should; nil: it does.
    var reason: String? {
        current.withLock { current in
            PostgresTrouble.allCases.compactMap { current[$0]?.words }.first
        }
    }

    /// It is so now. Tells it if it is new, or has another reason.
    func note(_ trouble: PostgresTrouble, _ words: String) {
        let now = SystemClock.monotonicNs
        let old = current.withLock {
            $0.updateValue(Trouble(words: words, seenNs: now), forKey: trouble)
        }
        if old?.words != words { onNotice(.began(trouble, words)) }
    }

    func end(_ trouble: PostgresTrouble) {
        if current.withLock({ $0.removeValue(forKey: trouble) }) != nil {
            onNotice(.ended(trouble))
        }
    }

    /// Now and then.
    func endOld(quietNs: UInt64 = quietNs) {
        let limit = SystemClock.monotonicNs
        let old = current.withLock { current in
            [PostgresTrouble.slow, .full].filter {
                current[$0].map { $0.seenNs + quietNs < limit } ?? false
            }
        }
        for trouble in old { end(trouble) }
    }
}
