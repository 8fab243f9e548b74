/// The header blocks of a connection's requests, in HPACK (RFC 7541).
///
/// nghttp2 would Huffman-code the token and the credentials of each push anew, a sixth of what a push costs. Here texts
/// are written as they are, and a field that the peer keeps takes a byte.
struct HeaderEncoder {
    typealias Text = UnsafeBufferPointer<UInt8>

    /// Numbers of names in the table that every peer has.
    enum KnownName: Int {
        case none = 0, authority = 1, method = 2, path = 4, authorization = 23, contentLength = 28
    }

    /// The block since `begin()`.
    private(set) var block: [UInt8] = []
    /// The fields in the peer's table, the oldest first. None is evicted: after a full table comes an empty one.
    private var kept: [Kept] = []
    private var keptBytes: [UInt8] = []
    /// Their size as the standard counts it.
    private var size = 0
    private var sizeMax = HeaderEncoder.sizeUnlessTold
    /// The next block empties the table: it is full, or its size was set.
    private var isOver = false
    /// Where the next field is expected: requests have the same fields in the same order.
    private var expected = 0

    private struct Kept { let start, name, value: Int }
    private static nonisolated(unsafe) let post = HTTP2Session.bytes("POST")
    private static let sizeUnlessTold = 4_096
    /// What a field takes in the table besides its texts.
    private static let fieldSize = 32

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. Peers wait for an answer in the next block even if it is as before: it may
    /// have been less in between.
    mutating func setTable(sizeMax most: Int) {
        sizeMax = min(most, Self.sizeUnlessTold)
        isOver = true
    }

    mutating func begin() {
        block.removeAll(keepingCapacity: true)
        expected = 0
        guard isOver else { return }
        isOver = false
        size = 0
        kept.removeAll(keepingCapacity: true)
        keptBytes.removeAll(keepingCapacity: true)
        number(0, .tableSize)
        if sizeMax > 0 { number(sizeMax, .tableSize) }
    }

    mutating func method(_ value: Text) {
        if value.hasSameBytes(as: Self.post) {
            number(3, .field)
        } else {
            number(KnownName.method.rawValue, .plain)
            text(value)
        }
    }

    mutating func https() { number(7, .field) }

    mutating func contentLength(_ count: Int) {
        number(KnownName.contentLength.rawValue, .never)
        var (digits, unit) = (1, 1)
        while count / unit >= 10 { (digits, unit) = (digits + 1, unit * 10) }
        block.append(UInt8(digits))
        while unit > 0 {
            block.append(UInt8(ascii: "0") + UInt8(count / unit % 10))
            unit /= 10
        }
    }

    /// A field that differs from request to request, or is secret: no table keeps it, on the whole way.
    mutating func varying(_ name: Text, _ value: Text) { literal(.never, .none, name, value) }

    mutating func varying(_ name: KnownName, _ value: Text) {
        number(name.rawValue, .never)
        text(value)
    }

    /// A field that many requests have.
    mutating func common(_ known: KnownName, _ name: Text, _ value: Text) {
        if let place = place(name, value) {
            expected = place + 1
            return number(61 + kept.count - place, .field)
        }
        let cost = name.count + value.count + Self.fieldSize
        guard size + cost <= sizeMax else {
            if cost <= sizeMax { isOver = true }
            return literal(.plain, known, name, value)
        }
        size += cost
        kept.append(Kept(start: keptBytes.count, name: name.count, value: value.count))
        keptBytes.append(contentsOf: name)
        keptBytes.append(contentsOf: value)
        expected = kept.count
        literal(.kept, known, name, value)
    }

    private func place(_ name: Text, _ value: Text) -> Int? {
        if expected < kept.count, isKept(expected, name, value) { return expected }
        return kept.indices.first { isKept($0, name, value) }
    }

    private func isKept(_ place: Int, _ name: Text, _ value: Text) -> Bool {
        let field = kept[place]
        return keptBytes.withUnsafeBufferPointer { bytes in
            let texts = Text(rebasing: bytes[field.start...])
            return Text(rebasing: texts[..<field.name]).hasSameBytes(as: name)
                && Text(rebasing: texts[field.name..<field.name + field.value]).hasSameBytes(
                    as: value)
        }
    }

    /// What a number begins: the bits above it, and the most that fits into its own.
    private enum Form: UInt16 {
        case field = 0x80_7F, kept = 0x40_3F, tableSize = 0x20_1F, never = 0x10_0F, plain = 0x00_0F
        case text = 0x00_7F
    }

    private mutating func literal(_ form: Form, _ known: KnownName, _ name: Text, _ value: Text) {
        number(known.rawValue, form)
        if known == .none { text(name) }
        text(value)
    }

    private mutating func text(_ bytes: Text) {
        number(bytes.count, .text)
        block.append(contentsOf: bytes)
    }

    private mutating func number(_ value: Int, _ form: Form) {
        let (bits, most) = (UInt8(form.rawValue >> 8), Int(form.rawValue & 0xFF))
        guard value >= most else { return block.append(bits | UInt8(value)) }
        block.append(bits | UInt8(most))
        var rest = value - most
        while rest >= 0x80 {
            block.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        block.append(UInt8(rest))
    }
}
