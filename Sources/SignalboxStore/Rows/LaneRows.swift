internal import GRDB
internal import SignalboxCore

extension LaneKey {
    /// From the columns sender, app and kind.
    init(_ row: Row) throws {
        guard let kind = DeliveryKind(rawValue: UInt8(clamping: try row.number("kind"))) else {
            throw RowFault(column: "kind")
        }
        self.init(sender: try row.text("sender"), app: try row.text("app"), kind: kind)
    }

    /// All lanes of a database, by their numbers.
    static func all(_ damage: DamagedRows, _ db: Database) throws -> [Int64: LaneKey] {
        let rows = try Row.fetchAll(db, sql: "SELECT sender, app, kind, id FROM lane ORDER BY id")
        let found = try damage.read("lane", rows, id: { $0.shown("id") }) {
            (try $0.number("id"), try LaneKey($0))
        }
        return Dictionary(found) { $1 }
    }

    /// For the columns sender, app and kind.
    var columns: StatementArguments { [sender, app, Int64(kind.rawValue)] }
}
