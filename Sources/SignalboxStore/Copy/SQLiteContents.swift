internal import Foundation
internal import GRDB
public import SignalboxCore
internal import SignalboxTables

/// What a data folder holds, while no gateway uses it.
public final class SQLiteContents: StoreContents {
    let files: StoreFiles
    let queue: DatabaseQueue
    /// The folder.
    public let place: String
    /// Recent keys, which are not in the tree yet; read when they are needed.
    var recent: [SeenKey: Int64]?
    var tables = QueueTables()

    /// Takes the folder for a copy. A source must exist; its tables are brought up to date.
    public init(folder: String, _ role: CopyRole) throws(StoreError) {
        if role == .source { try Self.require(folder) }
        place = folder
        do throws(StoreError) {
            files = try StoreFiles(folder: folder)
        } catch {
            guard error.code == "store-in-use" else { throw error }
            throw StoreError(
                "store-in-use", "a gateway uses the data folder \(folder); stop it first")
        }
        queue = try files.database(bytesMax: 0, forCopy: role == .target)
        do {
            try takeBack()
            try RowRepair(DamagedRows()).run(queue)
        } catch {
            close()
            throw (error as? StoreError) ?? files.fault(error)
        }
    }

    static func require(_ folder: String) throws(StoreError) {
        let file = "\(folder)/signalbox.sqlite"
        try StoreFiles.requireWhole(file)
        guard FileManager.default.fileExists(atPath: file) else {
            throw StoreError(
                "store-missing",
                "no store at \(folder): \(file) does not exist; give the gateway's data folder")
        }
    }

    /// Releases what the last gateway held, as its next start would.
    private func takeBack() throws {
        if let name = try BlockTables.takeBack(queue) {
            throw StoreError(
                "store-damaged",
                "\(files.path): deliveries that senders had taken over cannot be read and stay in the "
                    + "table \(name); run the command again to copy the rest")
        }
        try queue.write { db in
            try db.execute(sql: "UPDATE delivery SET leased = 0, due = 0 WHERE leased = 1")
            // A store on which no gateway ever started has none.
            _ = try SeenKeys.seed(db)
        }
    }

    /// The store, its owner, and how often that started.
    public func identity() throws -> String {
        try read { db in
            let row = try Row.fetchOne(db, sql: "SELECT name, epoch FROM owner")
            let name = (try? row?.text("name")) ?? ""
            let epoch = (try? row?.number("epoch")) ?? 0
            return "sqlite \(try SeenKeys.seed(db).0) \(name) \(epoch)"
        }
    }

    /// How many records there are.
    public func counts() throws -> [StoredKind: Int] {
        try read { db in try StoredCounts.all(link(db), recent: try self.recentKeys(db)) }
    }

    /// Closes the file.
    public func close() {
        tables.close()
        try? queue.close()
        files.unlock()
    }

    func link(_ db: Database) -> SQLiteTables { SQLiteTables(tables.hot, db) }

    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw (error as? StoreError) ?? files.fault(error)
        }
    }

    func recentKeys(_ db: Database) throws -> [SeenKey: Int64] {
        if let recent { return recent }
        let found = try StoredCounts.recentKeys(db)
        recent = found
        return found
    }

    // MARK: The mark of a copy

    /// How far the copy into this folder has come.
    public func mark() throws -> CopyMark? { try read { try CopyMark.read(link($0)) } }

    /// The last mark of the copy that made this folder.
    public func finished() throws -> CopyMark? {
        try read { try CopyMark.read(from: "copied", link($0)) }
    }

    /// Adds records and replaces the mark.
    public func write(
        _ records: [StoredRecord], mark: CopyMark?, replacing old: CopyMark?
    ) throws {
        do {
            try queue.write { db in
                guard try CopyMark.read(self.link(db)) == old else {
                    throw StoreError("store-in-use", "another copy writes into \(place)")
                }
                try self.add(records, db)
                try CopyMark.write(mark, self.link(db))
            }
            _ = tables.committed()
        } catch {
            tables.rolledBack()
            throw (error as? StoreError) ?? files.fault(error)
        }
    }
}
