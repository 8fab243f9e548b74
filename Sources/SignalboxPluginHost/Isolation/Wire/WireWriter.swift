internal import Glibc
internal import SignalboxCore

/// Constants of the protocol between a gateway and a plugin's process.
enum Wire {
    /// Raised with every change of a message, because the runner may be a program of another version.
    static let version: UInt32 = 11
    /// Largest message in bytes; a peer that announces a longer one is malformed.
    static let bytesMax = 32 << 20
    /// Bytes of the header of each message: length, method, kind, call number.
    static let headBytes = 16
}

/// An outgoing message: numbers, texts and lists back to back, in the order in which they are read.
/// Numbers have the byte order of the machine that both ends run on.
///
/// One thread at a time.
final class WireWriter {
    private let limit: Int
    private var start: UnsafeMutableRawPointer
    private var room: Int
    private(set) var count = Wire.headBytes
    /// The message did not fit, and its content is useless.
    private(set) var isTooLong = false
    /// A buffer, reused for each record.
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

    func bits<Value: BitwiseCopyable>(_ value: Value) {
        guard grow(by: MemoryLayout<Value>.size) else { return }
        start.storeBytes(of: value, toByteOffset: count, as: Value.self)
        count += MemoryLayout<Value>.size
    }

    /// Bytes, after how many there are.
    func raw(_ source: UnsafeRawBufferPointer) {
        bits(UInt32(truncatingIfNeeded: source.count))
        append(source)
    }

    /// A record, which contains its own size.
    func put(record: some RecordValue) {
        records.removeAll()
        records.append(record)
        records.bytes.withUnsafeBytes { append($0) }
    }

    /// Bytes without a length in front.
    func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress, grow(by: source.count) else { return }
        (start + count).copyMemory(from: from, byteCount: source.count)
        count += source.count
    }

    /// Writes the message's header.
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
