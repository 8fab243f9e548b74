/// A statement that both engines run, written in PostgreSQL's words.
public struct TableStatement: Sendable {
    /// Unique; an engine keeps it prepared under this name. Empty: it is made of parts, and prepared each time.
    public let name: String
    /// For PostgreSQL.
    public let postgres: String
    /// For SQLite.
    public let sqlite: String

    /// Makes a statement. `sqlite` is given where SQLite must do the same in another way.
    public init(_ name: String, _ sql: String, sqlite: String? = nil) {
        self.name = name
        postgres = sql
        self.sqlite = Self.sqlite(sqlite ?? sql)
    }

    /// What the two write differently. SQLite has one writer, which needs no locks on rows.
    private static func sqlite(_ sql: String) -> String {
        [
            ("signalbox.", ""), ("pg_catalog.\"position\"(", "instr("), ("$", "?"),
            ("greatest(", "max("), ("least(", "min("),
            (" FOR UPDATE SKIP LOCKED", ""), (" FOR UPDATE", ""),
        ].reduce(sql) { $0.replacing($1.0, with: $1.1) }
    }
}

/// An argument of a statement; nil is NULL of this type.
public enum TableValue: Sendable, Hashable {
    /// A number.
    case number(Int64?)
    /// A text.
    case text(String?)
    /// Bytes.
    case bytes([UInt8]?)

    /// A number that may be too large.
    public static func number(clamping number: some BinaryInteger) -> TableValue {
        .number(Int64(clamping: number))
    }
}
