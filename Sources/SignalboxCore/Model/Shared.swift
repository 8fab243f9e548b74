/// The fields of a value that is passed on many times, behind one reference.
///
/// Immutable, so that any thread may read it without a lock; a change makes a new one.
package final class Shared<Fields: Sendable>: Sendable {
    package let fields: Fields

    init(_ fields: Fields) { self.fields = fields }

    func with<Value>(_ field: WritableKeyPath<Fields, Value>, _ value: Value) -> Shared {
        changed { $0[keyPath: field] = value }
    }

    func changed(_ body: (inout Fields) -> Void) -> Shared {
        var changed = fields
        body(&changed)
        return Shared(changed)
    }
}
