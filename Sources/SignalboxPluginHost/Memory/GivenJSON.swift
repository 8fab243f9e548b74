internal import CSignalbox
internal import Glibc
internal import SignalboxCore
internal import SignalboxJSON

/// JSON texts given to a plugin in a call, and where their parses are kept.
///
/// They are looked up by their bytes, so that a plugin may parse a copy.
struct GivenJSON {
    enum Source {
        /// Parsed already.
        case parsed(any ParsedJSON)
        /// A part of a content, which keeps the parse for all its deliveries.
        case part(SharedNotification, SharedNotification.Part)
    }

    private struct Text {
        var bytes: UnsafeRawBufferPointer
        var source: Source
    }

    private var byHash: [Int: Text] = [:]
    private var lengthMax = 0

    /// Remembers a text, which must live until `removeAll`.
    mutating func add(_ text: sbx_str, _ source: Source) {
        guard !text.isEmpty else { return }
        byHash[Self.hash(text.raw)] = Text(bytes: text.raw, source: source)
        lengthMax = max(lengthMax, text.raw.count)
    }

    mutating func add(_ others: GivenJSON) {
        byHash.merge(others.byHash) { own, _ in own }
        lengthMax = max(lengthMax, others.lengthMax)
    }

    mutating func removeAll() {
        guard lengthMax > 0 else { return }
        byHash.removeAll(keepingCapacity: true)
        lengthMax = 0
    }

    /// The parse of one of the texts, made with `parse` if missing; nil if it is not one of them or not JSON.
    func document(
        _ text: UnsafeBufferPointer<UInt8>, _ parse: (String) -> JSONDocument?
    ) -> JSONDocument? {
        let bytes = UnsafeRawBufferPointer(text)
        guard bytes.count <= lengthMax, let found = byHash[Self.hash(bytes)],
            found.bytes.count == bytes.count, let known = found.bytes.baseAddress,
            let given = bytes.baseAddress, memcmp(known, given, bytes.count) == 0
        else { return nil }
        return switch found.source {
        case .parsed(let parsed): parsed as? JSONDocument
        case .part(let content, let part):
            content.parsed(part) { parse($0) } as? JSONDocument
        }
    }

    /// From the length and three words of the text. Two texts with the same hash cost one parse more.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        let last = bytes.count - 8
        guard last >= 0 else { return bytes.reduce(bytes.count) { $0 &* 31 &+ Int($1) } }
        func word(_ at: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) }
        let mixed = word(0) ^ word(last / 2) &* 31 ^ word(last) &* 961
        return Int(truncatingIfNeeded: mixed) &+ bytes.count
    }
}
