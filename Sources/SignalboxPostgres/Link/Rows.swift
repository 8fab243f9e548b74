internal import CPostgres
internal import SignalboxCore

/// What a statement found, in binary form.
///
/// Used by the thread that asked.
final class Rows {
    private let result: OpaquePointer
    let count: Int

    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
    }

    deinit { PQclear(result) }

    /// How many rows the statement changed.
    var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// The bytes of a value, valid as long as these rows.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), Int32(column)),
            count: Int(PQgetlength(result, Int32(row), Int32(column))))
    }

    /// A bigint or an integer; 0 if NULL.
    func number(_ row: Int, _ column: Int) -> Int64 {
        let bytes = bytes(row, column)
        var out: Int64 = (bytes.first ?? 0) & 0x80 == 0 ? 0 : -1
        for byte in bytes { out = out << 8 | Int64(byte) }
        return out
    }

    /// An id or a position, which somebody may have changed; 0 if it cannot be one.
    func unsigned(_ row: Int, _ column: Int) -> UInt64 {
        StoredNumber.unsigned(number(row, column)) ?? 0
    }

    /// A count of a block's deliveries; nil if it is out of range.
    func blockCount(_ row: Int, _ column: Int) -> Int? {
        let count = number(row, column)
        return (1...Int64(Marks.count)).contains(count) ? Int(count) : nil
    }

    func optional(_ row: Int, _ column: Int) -> Int64? {
        isNull(row, column) ? nil : number(row, column)
    }

    func text(_ row: Int, _ column: Int) -> String {
        String(decoding: bytes(row, column), as: UTF8.self)
    }
}
