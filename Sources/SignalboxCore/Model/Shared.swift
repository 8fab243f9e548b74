/// The fields of a value that is handed on many times, behind one reference.
///
/// Never changes, so that reading it needs no check of who else does; a change makes a new one.
final class Shared<Fields: Sendable>: Sendable {
    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }

    func with<Value>(_ field: WritableKeyPath<Fields, Value>, _ value: Value) -> Shared {
        var changed = fields
        changed[keyPath: field] = value
        return Shared(changed)
    }
}
