internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Values of rows, which are not trusted: SQLite keeps any value in any column, and GRDB's subscripts end the process where it is of
/// another kind.
extension Row {
    /// A whole number.
    func number(_ column: String) throws -> Int64 {
        guard case .int64(let number) = value(column).storage else {
            throw RowFault(column: column)
        }
        return number
    }

    /// A whole number, or NULL.
    func optional(_ column: String) throws -> Int64? {
        value(column).isNull ? nil : try number(column)
    }

    /// An id, a position or a count.
    func unsigned(_ column: String) throws -> UInt64 {
        guard let number = StoredNumber.unsigned(try number(column)) else {
            throw RowFault(column: column)
        }
        return number
    }

    /// A time in Unix milliseconds; 0 if it is NULL or below.
    func time(_ column: String) throws -> UInt64 { UInt64(clamping: try optional(column) ?? 0) }

    /// A text.
    func text(_ column: String) throws -> String {
        guard case .string(let text) = value(column).storage else { throw RowFault(column: column) }
        return text
    }

    /// Bytes; none if it is NULL.
    func bytes(_ column: String) throws -> Data {
        switch value(column).storage {
        case .blob(let data): return data
        case .null: return Data()
        case .int64, .double, .string: throw RowFault(column: column)
        }
    }

    /// What it has in a column, whatever that is.
    func value(_ column: String) -> DatabaseValue {
        let found: DatabaseValue? = self[column]
        return found ?? .null
    }

    /// For a line about it.
    func shown(_ column: String) -> String { "\(value(column))" }
}
