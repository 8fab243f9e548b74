internal import Glibc
internal import SignalboxCore

/// Bounds and names of what goes between a gateway and the process of a plugin.
enum Wire {
    /// Raised with every change of a message: a runner of another program may be of another version.
    static let version: UInt32 = 4
    /// Largest message. What a peer says beyond it is not believed.
    static let bytesMax = 32 << 20
    /// Bytes in front of each message: length, method, kind, number of the call.
    static let headBytes = 16
}

/// A message on its way out: numbers, texts and lists one behind the other, in the order in which they are
/// read. Numbers have the byte order of the machine that both ends run on.
///
/// One thread at a time.
final class WireWriter {
    private let limit: Int
    private var start: UnsafeMutableRawPointer
    private var room: Int
    private(set) var count = Wire.headBytes
    /// It did not fit; what there is of it is useless.
    private(set) var isTooLong = false
    /// Room for one record after the other.
    private var records = RecordWriter()

    init(limit: Int = Wire.bytesMax, room: Int = 1_024) {
        self.limit = limit
        self.room = max(room, Wire.headBytes)
        start = .allocate(byteCount: self.room, alignment: 16)
        start.initializeMemory(as: UInt8.self, repeating: 0, count: Wire.headBytes)
    }

    deinit { start.deallocate() }

    /// The whole message; valid until the next `put`.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    func put<Number: FixedWidthInteger & BitwiseCopyable>(_ value: Number) {
        guard grow(by: MemoryLayout<Number>.size) else { return }
        start.storeBytes(of: value, toByteOffset: count, as: Number.self)
        count += MemoryLayout<Number>.size
    }

    func put(_ flag: Bool) { put(UInt8(flag ? 1 : 0)) }

    func put(_ source: UnsafeRawBufferPointer) {
        put(UInt32(truncatingIfNeeded: source.count))
        append(source)
    }

    func put(_ bytes: [UInt8]) { bytes.withUnsafeBytes { put($0) } }

    func put(_ text: String) {
        var copy = text
        copy.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    func put(_ value: some WireValue) { value.write(to: self) }

    func put(_ values: [some WireValue]) {
        put(UInt32(truncatingIfNeeded: values.count))
        for value in values { value.write(to: self) }
    }

    func put<Value>(_ value: Value?, _ write: (Value) -> Void) {
        put(value != nil)
        if let value { write(value) }
    }

    /// A record, which says its own size.
    func put(record: some RecordValue) {
        records.removeAll()
        records.append(record)
        records.bytes.withUnsafeBytes { append($0) }
    }

    /// Bytes without their number in front.
    func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress, grow(by: source.count) else { return }
        (start + count).copyMemory(from: from, byteCount: source.count)
        count += source.count
    }

    /// Writes what stands in front of the message.
    func finish(method: UInt16, kind: UInt16, call: UInt64) {
        start.storeBytes(of: UInt32(count - Wire.headBytes), toByteOffset: 0, as: UInt32.self)
        start.storeBytes(of: method, toByteOffset: 4, as: UInt16.self)
        start.storeBytes(of: kind, toByteOffset: 6, as: UInt16.self)
        start.storeBytes(of: call, toByteOffset: 8, as: UInt64.self)
    }

    private func grow(by more: Int) -> Bool {
        let need = count + more
        guard !isTooLong, need - Wire.headBytes <= limit else {
            isTooLong = true
            return false
        }
        if need <= room { return true }
        room = max(need, min(room * 2, limit + Wire.headBytes))
        let larger = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
        larger.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = larger
        return true
    }
}

/// Something that goes over the wire.
protocol WireValue: SendableMetatype {
    func write(to writer: WireWriter)
    init(from reader: inout WireReader) throws(WireFault)
}
