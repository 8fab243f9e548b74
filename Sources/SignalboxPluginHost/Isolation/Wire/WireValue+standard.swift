/// A value that is sent as its memory, because any bytes are one: numbers, and structs of numbers.
protocol WireBits: WireValue, BitwiseCopyable {}

extension WireBits {
    func write(to writer: WireWriter) { writer.bits(self) }
    init(from reader: inout WireReader) throws(WireFault) { self = try reader.bits() }

    static func write(list: [Self], to writer: WireWriter) {
        writer.put(list.count)
        list.withUnsafeBytes { writer.append($0) }
    }

    static func list(from reader: inout WireReader) throws(WireFault) -> [Self] {
        let size = MemoryLayout<Self>.stride
        let count = try reader.count(least: size)
        let raw = try reader.raw(count: count * size)
        return [Self](unsafeUninitializedCapacity: count) { room, filled in
            UnsafeMutableRawBufferPointer(room).copyMemory(from: raw)
            filled = count
        }
    }
}

extension UInt8: WireBits {}
extension UInt16: WireBits {}
extension UInt32: WireBits {}
extension UInt64: WireBits {}
extension Int32: WireBits {}
extension Int64: WireBits {}

/// A count, a place or a limit: from 0 to the largest 32-bit number.
extension Int: WireValue {
    func write(to writer: WireWriter) { writer.put(UInt32(clamping: self)) }
    init(from reader: inout WireReader) throws(WireFault) {
        self = Int(try reader.value(UInt32.self))
    }
}

extension Bool: WireValue {
    func write(to writer: WireWriter) { writer.put(UInt8(self ? 1 : 0)) }

    init(from reader: inout WireReader) throws(WireFault) {
        switch try reader.value(UInt8.self) {
        case 0: self = false
        case 1: self = true
        default: throw WireFault("a flag is neither 0 nor 1")
        }
    }
}

extension String: WireValue {
    func write(to writer: WireWriter) {
        var copy = self
        copy.withUTF8 { writer.raw(UnsafeRawBufferPointer($0)) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self = String(decoding: try reader.raw(), as: UTF8.self)
    }
}

extension Optional: WireValue where Wrapped: WireValue {
    func write(to writer: WireWriter) {
        writer.put(self != nil)
        if let self { writer.put(self) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self = try reader.value(Bool.self) ? try reader.value(Wrapped.self) : nil
    }
}

extension Array: WireValue where Element: WireValue {
    func write(to writer: WireWriter) { Element.write(list: self, to: writer) }
    init(from reader: inout WireReader) throws(WireFault) {
        self = try Element.list(from: &reader)
    }
}

/// In the order of their names.
extension Dictionary: WireValue where Key == String, Value: WireValue {
    func write(to writer: WireWriter) {
        writer.put(count)
        for (name, value) in sorted(by: { $0.key < $1.key }) {
            writer.put(name)
            writer.put(value)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self = [:]
        for _ in 0..<(try reader.count(least: 5)) {
            let name = try reader.value(String.self)
            self[name] = try reader.value(Value.self)
        }
    }
}

/// The result of a call that may fail.
struct WireResult<Value: WireValue>: WireValue {
    let result: Result<Value, PluginFault>

    init(_ result: Result<Value, PluginFault>) { self.result = result }

    init(_ body: () throws(PluginFault) -> Value) {
        do throws(PluginFault) {
            result = .success(try body())
        } catch {
            result = .failure(error)
        }
    }

    func write(to writer: WireWriter) {
        switch result {
        case .success(let value):
            writer.put(true)
            writer.put(value)
        case .failure(let fault):
            writer.put(false)
            writer.put(fault)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        result =
            try reader.value() ? .success(try reader.value()) : .failure(try reader.value())
    }
}

/// Success without a value.
struct WireNothing: WireValue {
    func write(to writer: WireWriter) {}
    init() {}
    init(from reader: inout WireReader) throws(WireFault) {}
}
