/// A statement with its name on the server. Its arguments say of which types they are.
struct Statement: Sendable {
    /// Empty: it is parsed each time, as statements that are built from parts.
    let name: String
    let sql: String

    init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    static let begin = Statement("begin", beginSQL)

    /// Of the kind that the gateway's statements are written for, whatever the role's or the database's default is.
    static let beginSQL = "BEGIN ISOLATION LEVEL READ COMMITTED"
    static let commit = Statement("commit", "COMMIT")
    static let rollback = Statement("rollback", "ROLLBACK")
}
