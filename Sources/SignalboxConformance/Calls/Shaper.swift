internal import CSignalbox
internal import Glibc
internal import SignalboxPluginHost

/// The memory layout of structs for a plugin.
enum Shape: Sendable {
    /// As the gateway makes them.
    case plain
    /// As a newer host makes them: longer than today's contract says, with matching strides.
    case longer
    /// Each ends where readable memory ends, so reading past it crashes.
    case exact
}

/// Lays structs out anew and keeps their memory until it is released.
final class Shaper {
    let shape: Shape
    private var owned: [UnsafeMutableRawPointer] = []
    private var mapped: [(start: UnsafeMutableRawPointer, bytes: Int)] = []

    init(_ shape: Shape) { self.shape = shape }

    deinit {
        for room in owned { room.deallocate() }
        for map in mapped { munmap(map.start, map.bytes) }
    }

    /// A text in its new place; a text that is not given stays so.
    func text(_ given: sbx_str) -> sbx_str {
        guard shape == .exact, !given.isEmpty else { return given }
        let room = place(bytes: given.raw)
        return sbx_str(ptr: room.assumingMemoryBound(to: CChar.self), len: given.len)
    }

    /// Pairs, whose size is fixed.
    func pairs(_ given: UnsafePointer<sbx_kv>?, _ count: Int) -> UnsafePointer<sbx_kv>? {
        guard shape == .exact, let given, count > 0 else { return given }
        let copies = (0..<count).map {
            sbx_kv(key: text(given[$0].key), value: text(given[$0].value))
        }
        return plain(copies)
    }

    /// Values of a fixed size, such as ids.
    func plain<Element: BitwiseCopyable>(_ values: [Element]) -> UnsafePointer<Element> {
        let room = values.withUnsafeBytes { place(bytes: $0) }
        return UnsafePointer(room.assumingMemoryBound(to: Element.self))
    }

    /// The same for an existing array.
    func plain<Element: BitwiseCopyable>(
        _ given: UnsafePointer<Element>?, _ count: Int
    ) -> UnsafePointer<Element> {
        plain(Array(UnsafeBufferPointer(start: given, count: count)))
    }

    /// An array of structs that begin with their size; `visit` shapes what each one points to.
    func list<Element: BitwiseCopyable>(
        _ given: UnsafePointer<Element>?, _ count: Int, _ visit: (inout Element) -> Void
    ) -> (start: UnsafePointer<Element>?, stride: Int) {
        let size = MemoryLayout<Element>.size
        guard shape != .plain, let given, count > 0 else { return (given, size) }
        let stride = size + (shape == .longer ? 40 : 0)
        var bytes = [UInt8](repeating: HostProbe.tailByte, count: stride * count)
        for index in 0..<count {
            var element = given[index]
            visit(&element)
            withUnsafeMutableBytes(of: &element) { raw in
                raw.storeBytes(of: UInt32(stride), as: UInt32.self)
                bytes.replaceSubrange(index * stride..<index * stride + size, with: raw)
            }
        }
        let room = bytes.withUnsafeBytes { place(bytes: $0) }
        return (UnsafePointer(room.assumingMemoryBound(to: Element.self)), stride)
    }

    /// One struct that begins with its size.
    func one<Element: BitwiseCopyable>(
        _ given: UnsafePointer<Element>?, _ visit: (inout Element) -> Void
    ) -> UnsafePointer<Element>? { list(given, 1, visit).start }

    private func place(bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        shape == .exact ? mapped(bytes) : allocated(bytes)
    }

    private func allocated(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        let room = UnsafeMutableRawPointer.allocate(
            byteCount: max(1, bytes.count), alignment: 16)
        owned.append(room)
        room.copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(room), byteCount: bytes.count)
        return room
    }

    /// Copies the bytes so that an unreadable page follows the last one.
    private func mapped(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let used = (bytes.count + page - 1) / page * page
        let map = mmap(
            nil, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let map, map != MAP_FAILED else { return allocated(bytes) }
        mprotect(map + used, page, PROT_NONE)
        mapped.append((map, used + page))
        let start = map + used - bytes.count
        start.copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(start), byteCount: bytes.count)
        return start
    }
}
