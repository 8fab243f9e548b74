internal import Synchronization

/// A number that one thread writes and others read.
final class SharedCount: Sendable {
    private let number: Atomic<Int>

    init(_ value: Int) { number = Atomic(value) }

    var value: Int { number.load(ordering: .relaxed) }

    func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    func add(_ delta: Int) { number.wrappingAdd(delta, ordering: .relaxed) }
}
