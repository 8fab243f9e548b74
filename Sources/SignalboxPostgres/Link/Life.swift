internal import SignalboxCore
internal import Synchronization

/// One life of an owner, as the database knows it. After another life fenced it, a gateway may begin the next one.
final class Life: Sendable {
    private let owner: String
    private let unique: Atomic<Int64>

    init(owner: String, number: Int64) {
        self.owner = owner
        unique = Atomic(number)
    }

    /// Unique among all lives of all owners, and higher than those before it; leases name it.
    var number: Int64 { unique.load(ordering: .relaxed) }
    /// Its epoch is never given out again, even if the owner's row was lost.
    var token: LeaseToken { LeaseToken(owner: owner, epoch: UInt64(clamping: number)) }

    /// Goes on as the next one.
    func become(_ next: Life) { unique.store(next.number, ordering: .relaxed) }
}
