internal import CSignalbox
internal import Synchronization

extension sbx_str {
    /// A copy.
    var text: String { len == 0 ? "" : String(decoding: raw, as: UTF8.self) }

    var raw: UnsafeRawBufferPointer {
        guard let ptr, len > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: ptr, count: len)
    }

    var buffer: UnsafeBufferPointer<UInt8> { raw.bindMemory(to: UInt8.self) }
}

/// Memory for C structs that is freed at once.
///
/// One thread at a time.
final class Arena {
    /// Usually the only room. It has the usual size, so that another arena can reuse it.
    private var first: UnsafeMutableRawPointer?
    private var more: [UnsafeMutableRawPointer] = []
    private var room: UnsafeMutableRawPointer?
    private var left = 0

    deinit {
        for room in more { room.deallocate() }
        if let first, !IdleRooms.keep(first) { first.deallocate() }
    }

    /// Frees everything but the first room, which is reused.
    func reset() {
        for room in more { room.deallocate() }
        more.removeAll(keepingCapacity: true)
        room = first
        left = first == nil ? 0 : IdleRooms.size
    }

    func array<Element: BitwiseCopyable>(
        _ type: Element.Type, _ count: Int
    ) -> UnsafeMutablePointer<Element> {
        let bytes = (max(1, count) * MemoryLayout<Element>.stride + 7) & ~7
        let start = allocate(bytes)
        start.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        return start.bindMemory(to: Element.self, capacity: max(1, count))
    }

    /// A struct that begins with its size, which is set.
    func constant<Table: BitwiseCopyable>(_ value: Table) -> UnsafePointer<Table> {
        let room = array(Table.self, 1)
        room.pointee = value
        UnsafeMutableRawPointer(room).storeBytes(
            of: UInt32(MemoryLayout<Table>.size), as: UInt32.self)
        return UnsafePointer(room)
    }

    func text(_ text: String) -> sbx_str {
        if text.isEmpty { return sbx_str() }
        return text.utf8.span.withUnsafeBytes { bytes($0) }
    }

    func bytes(_ source: UnsafeRawBufferPointer) -> sbx_str {
        guard let from = source.baseAddress, !source.isEmpty else { return sbx_str() }
        let target = allocate((source.count + 7) & ~7)
        target.copyMemory(from: from, byteCount: source.count)
        return sbx_str(ptr: target.assumingMemoryBound(to: CChar.self), len: source.count)
    }

    func bytes(_ source: [UInt8]) -> sbx_str { source.withUnsafeBytes { bytes($0) } }

    func pairs(_ pairs: [(String, String)]) -> UnsafePointer<sbx_kv> {
        let out = array(sbx_kv.self, pairs.count)
        for (index, pair) in pairs.enumerated() {
            out[index] = sbx_kv(key: text(pair.0), value: text(pair.1))
        }
        return UnsafePointer(out)
    }

    private static func room(_ bytes: Int) -> UnsafeMutableRawPointer {
        .allocate(byteCount: bytes, alignment: 16)
    }

    private func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
        if bytes > left {
            let size = max(IdleRooms.size, bytes)
            if first == nil, size == IdleRooms.size {
                let made = IdleRooms.take() ?? Self.room(size)
                first = made
                room = made
            } else {
                let made = Self.room(size)
                more.append(made)
                room = made
            }
            left = size
        }
        guard let start = room else { preconditionFailure("room was made above") }
        room = start + bytes
        left -= bytes
        return start
    }
}

/// Rooms that no arena uses at the moment. Most arenas live for one call and need one room, and memory of
/// this size is expensive to allocate.
private enum IdleRooms {
    static let size = 16 * 1024
    private static let countMax = 4
    private static let addresses = Mutex<[UInt]>([])

    static func take() -> UnsafeMutableRawPointer? {
        let address = addresses.withLock { $0.popLast() }
        return address.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
    }

    /// False if enough rooms are kept already.
    static func keep(_ room: UnsafeMutableRawPointer) -> Bool {
        addresses.withLock { addresses in
            guard addresses.count < countMax else { return false }
            addresses.append(UInt(bitPattern: room))
            return true
        }
    }
}

/// A service of a host at the size that this kit knows; without functions if the host does not offer it.
func service<Table: BitwiseCopyable>(
    _ host: UnsafePointer<sbx_host>, _ id: String, _ empty: Table
) -> Table {
    host.pointee.service(host, id)?.assumingMemoryBound(to: Table.self).known(empty) ?? empty
}

extension UnsafePointer {
    func element(_ index: Int, _ stride: Int) -> UnsafePointer<Pointee> {
        (UnsafeRawPointer(self) + index * stride).assumingMemoryBound(to: Pointee.self)
    }
}

extension UnsafePointer where Pointee: BitwiseCopyable {
    /// A host's struct that begins with its size, at the size that this kit knows.
    ///
    /// Fields beyond an older host's size stay as in `empty`; nothing beyond that size is read.
    func known(_ empty: Pointee) -> Pointee {
        var out = empty
        let size = UnsafeRawPointer(self).load(as: UInt32.self)
        withUnsafeMutableBytes(of: &out) { target in
            let count = Swift.min(Int(size), target.count)
            target.copyMemory(from: UnsafeRawBufferPointer(start: self, count: count))
        }
        return out
    }
}
