/// Numbers of rows, which are not trusted: a damaged disk, or a person, may have changed them.
public enum StoredNumber {
    /// No id, position or count that a store writes is larger, and sums of them do not overflow.
    public static let max: Int64 = 1 << 60

    /// An id, a position or a count; nil if the number is out of range, so that no store wrote it.
    public static func unsigned(_ number: Int64) -> UInt64? {
        (0...max).contains(number) ? UInt64(number) : nil
    }

    /// How long to wait for a time, in milliseconds; 0 if it has passed.
    public static func wait(untilMs due: Int64, nowMs now: Int64) -> UInt64 {
        due > now ? UInt64(due.subtractingReportingOverflow(now).partialValue.magnitude) : 0
    }

    /// The number of an attempt and how many before it were free, such that one can be added to each.
    public static func attempts(_ attempt: Int64, free: Int64) -> (attempt: UInt32, free: UInt32) {
        let number = min(Swift.max(attempt, 1), 1_000_000_000)
        return (UInt32(number), UInt32(min(Swift.max(free, 0), number - 1)))
    }
}

/// A row with a value that its column never has.
public struct RowFault: Error, Hashable, CustomStringConvertible {
    /// The column.
    public let column: String

    /// Makes a fault.
    public init(column: String) { self.column = column }

    /// Names the column.
    public var description: String { "the column \(column) cannot be read" }
}
