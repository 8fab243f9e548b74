internal import Synchronization

/// Carries a value from a transaction to its report.
final class Carried<Value: Sendable>: Sendable {
    private let box: Mutex<Value>

    init(_ value: Value) { box = Mutex(value) }

    var value: Value { box.withLock { $0 } }

    func set(_ new: Value) { box.withLock { $0 = new } }
}
