/// A value that can be sent over the wire.
protocol WireValue: SendableMetatype {
    func write(to writer: WireWriter)
    init(from reader: inout WireReader) throws(WireFault)
    /// A list of them; numbers are copied as one piece.
    static func write(list: [Self], to writer: WireWriter)
    static func list(from reader: inout WireReader) throws(WireFault) -> [Self]
}

extension WireWriter {
    func put(_ value: some WireValue) { value.write(to: self) }
}

extension WireReader {
    mutating func value<Value: WireValue>(
        _ type: Value.Type = Value.self
    ) throws(WireFault) -> Value { try Value(from: &self) }
}

extension WireValue {
    /// Reads a message that holds this value and nothing else.
    init(reading frame: WireFrame) throws(WireFault) {
        var reader = frame.reader
        self = try reader.value()
        try reader.end()
    }

    static func write(list: [Self], to writer: WireWriter) {
        writer.put(list.count)
        for value in list { value.write(to: writer) }
    }

    static func list(from reader: inout WireReader) throws(WireFault) -> [Self] {
        let count = try reader.count()
        var out: [Self] = []
        out.reserveCapacity(min(count, 1_024))
        for _ in 0..<count { out.append(try Self(from: &reader)) }
        return out
    }
}

/// A value that is sent as its fields, one after another. `layout` is all that there is to write.
protocol WireRecord: WireValue {
    static var layout: WireLayout<Self> { get }
}

extension WireRecord {
    func write(to writer: WireWriter) { Self.layout.write(self, writer) }
    init(from reader: inout WireReader) throws(WireFault) { self = try Self.layout.read(&reader) }
}

/// How the fields of a value are written and read, in the order given.
struct WireLayout<Root>: Sendable {
    let write: @Sendable (Root, WireWriter) -> Void
    let read: @Sendable (inout WireReader) throws(WireFault) -> Root

    /// `make` takes the fields in the same order.
    init<each Field: WireValue>(
        _ make: @escaping @Sendable (repeat each Field) -> Root,
        _ path: repeat any KeyPath<Root, each Field> & Sendable
    ) {
        write = { root, writer in repeat writer.put(root[keyPath: each path]) }
        read = { reader throws(WireFault) in make(repeat try (each Field)(from: &reader)) }
    }

    /// Fills in what `blank` leaves empty.
    init<each Field: WireValue>(
        in blank: @escaping @Sendable @autoclosure () -> Root,
        _ path: repeat any WritableKeyPath<Root, each Field> & Sendable
    ) {
        write = { root, writer in repeat writer.put(root[keyPath: each path]) }
        read = { reader throws(WireFault) in
            var root = blank()
            repeat root[keyPath: each path] = try (each Field)(from: &reader)
            return root
        }
    }
}

/// Cases and option sets are sent as their raw values.
extension WireValue where Self: RawRepresentable, RawValue: WireValue {
    func write(to writer: WireWriter) { rawValue.write(to: writer) }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let known = Self(rawValue: try reader.value()) else {
            throw WireFault("there is no such \(Self.self)")
        }
        self = known
    }
}
