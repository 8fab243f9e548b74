internal import Synchronization

/// A number that one thread writes and others read.
final class SharedCount: Sendable {
    private let number: Atomic<Int>

    init(_ value: Int) { number = Atomic(value) }

    var value: Int { number.load(ordering: .relaxed) }

    func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    func add(_ delta: Int) { number.wrappingAdd(delta, ordering: .relaxed) }
}

/// Numbers that the writer sets and others read. Of a state, 1 stands for yes.
struct StoreGauges: Sendable {
    let waiting: SharedCount
    let outcomes: SharedCount
    let diskFull = SharedCount(0)
    let fileGone = SharedCount(0)
    let failing = SharedCount(0)
    let checkpoints = SharedCount(0)
}
