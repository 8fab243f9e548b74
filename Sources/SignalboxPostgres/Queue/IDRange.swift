/// Ids that the database gave out at once.
enum IDRange {
    /// As the sequence counts.
    static let count: UInt64 = 262_144

    /// From a row of `nextRange`.
    static func of(_ rows: Rows) -> Range<UInt64> {
        let first = UInt64(clamping: rows.number(0, 0))
        return first..<first + count
    }
}
