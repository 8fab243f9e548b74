/// The half of a table that new rows go into; see `TableRotation`. Any is correct at any time: all other statements look at
/// both.
enum CurrentHalf {
    /// Its number, inside a statement.
    static func of(_ table: String, parts: Int64 = 2) -> String {
        "(SELECT abs(value % \(parts)) FROM signalbox.meta WHERE name = '\(table)_part')"
    }
}
