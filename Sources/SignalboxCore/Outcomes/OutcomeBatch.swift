/// A row of the outcome stream: the outcomes of one commit.
public struct OutcomeRow: Sendable {
    /// The sequence number of its first outcome.
    public var first: UInt64
    /// How many there are.
    public var count: Int
    /// The outcomes, in the format of `OutcomePack`.
    public var bytes: [UInt8]

    /// Makes a row.
    public init(first: UInt64, count: Int, bytes: [UInt8]) {
        self.first = first
        self.count = count
        self.bytes = bytes
    }
}

/// The body of one request to a receiver, filled from rows of the outcome stream.
public struct OutcomeBatch: Sendable {
    /// Most outcomes of a request.
    public static let countMax = 500
    /// Longest request in bytes, unless a single outcome is longer.
    public static let bytesMax = 256 << 10

    private let wish: OutcomeWish
    private let countMax: Int
    private var json: [UInt8] = Array(#"{"outcomes":["#.utf8)
    /// How many outcomes it holds.
    public private(set) var count = 0
    /// The receiver's next sequence number, once it has taken the batch.
    public private(set) var next: UInt64
    /// Where each outcome is in the body.
    private var places: [(sequence: UInt64, range: Range<Int>)] = []
    /// Whether an outcome did not fit.
    public private(set) var isFull = false

    /// Starts a batch at a sequence number.
    public init(from first: UInt64, wish: OutcomeWish, countMax: Int = Self.countMax) {
        next = first
        self.wish = wish
        self.countMax = countMax
    }

    /// A JSON object: `{"outcomes":[...]}`.
    public var body: [UInt8] { json + "]}".utf8 }

    /// The outcomes one by one: JSON objects with their sequence numbers.
    public var outcomes: [(sequence: UInt64, json: [UInt8])] {
        places.map { ($0.sequence, Array(json[$0.range])) }
    }

    /// Adds the wanted outcomes of a row, as far as they fit.
    ///
    /// Skips the rest of a row after damaged bytes.
    public mutating func add(_ row: OutcomeRow) {
        var reader = Reader(bytes: row.bytes[...])
        var sequence = row.first
        while !isFull, let (result, route, object) = reader.next() {
            defer { sequence += 1 }
            guard sequence >= next else { continue }
            if wish.takes(result, route: route) {
                let prefix = Array(#"{"sequence":\#(sequence),"#.utf8)
                let isTooLong = json.count + prefix.count + object.count + 3 > Self.bytesMax
                guard count == 0 || count < countMax && !isTooLong else {
                    isFull = true
                    return
                }
                if count > 0 { json.append(UInt8(ascii: ",")) }
                let start = json.count
                json += prefix
                json += object
                places.append((sequence, start..<json.count))
                count += 1
            }
            next = sequence + 1
        }
        if !isFull { next = max(next, row.first + UInt64(clamping: row.count)) }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func next() -> (OutcomeResult, route: String, object: ArraySlice<UInt8>)? {
            guard let first = bytes.popFirst(), let result = OutcomeResult(rawValue: first),
                let route = part(), let object = part()
            else { return nil }
            return (result, String(decoding: route, as: UTF8.self), object)
        }

        private mutating func part() -> ArraySlice<UInt8>? {
            var count = 0
            for shift in stride(from: 0, to: 35, by: 7) {
                guard let byte = bytes.popFirst() else { return nil }
                count |= Int(byte & 0x7F) << shift
                guard byte & 0x80 == 0 else { continue }
                guard count <= bytes.count else { return nil }
                defer { bytes = bytes.dropFirst(count) }
                return bytes.prefix(count)
            }
            return nil
        }
    }
}
