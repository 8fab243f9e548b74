package import CSignalbox
internal import SignalboxCore

/// Memory for the C structs of one call into a plugin; all of it is freed at once.
///
/// One thread at a time.
package final class CArena {
    private static let blockBytes = 64 * 1024
    private var blocks: [(start: UnsafeMutableRawPointer, bytes: Int)] = []
    private var block = -1
    private var used = 0
    /// JSON in this memory whose parse is kept.
    var given = GivenJSON()

    /// An empty arena.
    package init() {}

    deinit { for block in blocks { block.start.deallocate() } }

    /// Frees everything but one block, which the next call reuses.
    func reset() {
        while blocks.count > 1 { blocks.removeLast().start.deallocate() }
        block = blocks.isEmpty ? -1 : 0
        used = 0
        given.removeAll()
    }

    /// Room that lives until `reset`.
    func allocate(bytes: Int) -> UnsafeMutableRawPointer {
        // No struct of the contract needs an alignment of more than 8 bytes.
        let start = (used + 7) & ~7
        if block >= 0, start + bytes <= blocks[block].bytes {
            used = start + bytes
            return blocks[block].start + start
        }
        let size = max(Self.blockBytes, bytes)
        blocks.append((.allocate(byteCount: size, alignment: 16), size))
        block = blocks.count - 1
        used = bytes
        return blocks[block].start
    }

    /// Zeroed room for `count` structs.
    package func array<Element: BitwiseCopyable>(
        _ type: Element.Type, count: Int
    ) -> UnsafeMutablePointer<Element> {
        let bytes = max(1, count) * MemoryLayout<Element>.stride
        let raw = allocate(bytes: bytes)
        raw.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        return raw.bindMemory(to: Element.self, capacity: max(1, count))
    }

    /// A zeroed struct.
    package func make<Element: BitwiseCopyable>(_ type: Element.Type) -> UnsafeMutablePointer<
        Element
    > {
        array(type, count: 1)
    }

    /// Text for a plugin.
    package func text(_ text: String) -> sbx_str {
        if text.isEmpty { return sbx_str() }
        return text.utf8.span.withUnsafeBytes { bytes($0) }
    }

    /// Bytes for a plugin.
    package func bytes(_ source: UnsafeRawBufferPointer) -> sbx_str {
        guard !source.isEmpty else { return sbx_str() }
        let target = allocate(bytes: source.count)
        target.copyMemory(
            from: source.baseAddress ?? UnsafeRawPointer(target), byteCount: source.count)
        return sbx_str(ptr: target.assumingMemoryBound(to: CChar.self), len: source.count)
    }

    /// Bytes for a plugin.
    package func bytes(_ source: [UInt8]) -> sbx_str { source.withUnsafeBytes { bytes($0) } }
}
