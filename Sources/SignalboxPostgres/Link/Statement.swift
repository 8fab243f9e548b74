/// A statement with its name on the server. Casts in the text say of which types its arguments are.
struct Statement: Sendable {
    /// Empty: it is parsed each time, as statements that are built from parts.
    let name: String
    let sql: String

    init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    static let begin = Statement("begin", "BEGIN")
    static let commit = Statement("commit", "COMMIT")
    static let rollback = Statement("rollback", "ROLLBACK")
}
