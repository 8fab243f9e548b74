internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import Glibc
public import SignalboxCore

/// What an operator asks about a data folder.
extension SQLiteContents {
    /// Looks into a folder, also while a gateway uses it; changes nothing.
    public static func status(folder: String) throws -> StoreStatus {
        try require(folder)
        let path = "\(folder)/signalbox.sqlite"
        var out = StoreStatus(
            engine: "SQLite \(String(cString: sqlite3_libversion()))", place: folder)
        if isLocked(folder) { out.gateways = [.init(name: "", silentMs: nil)] }
        for file in [path, "\(path)-wal"] {
            var facts = stat()
            if stat(file, &facts) == 0 { out.bytes += Int(facts.st_size) }
        }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.read { db in try fill(&out, db) }
            try queue.close()
        } catch {
            throw StoreFiles.fault(error, path: path)
        }
        return out
    }

    /// Why a gateway could not start on a folder; nil if it could, or there is no database yet.
    ///
    /// Works while a gateway uses the folder, and changes nothing.
    public static func startFault(folder: String) -> StoreError? {
        let path = "\(folder)/signalbox.sqlite"
        do throws(StoreError) { try StoreFiles.requireWhole(path) } catch { return error }
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let (schema, hasCopy) = try queue.read { db in
                (try Schema.find(db), try db.tableExists("copy"))
            }
            try queue.close()
            if case .unknown(let number) = schema { return Schema.fault(path, found: number) }
            return hasCopy ? StoreError.unfinishedCopy(path) : nil
        } catch {
            return StoreFiles.fault(error, path: path)
        }
    }

    private static func fill(_ out: inout StoreStatus, _ db: Database) throws {
        out.schema =
            switch try Schema.find(db) {
            case .missing: .missing
            case .current: .current(Schema.number)
            case .unknown(let number): .unknown(number, known: Schema.number)
            }
        out.hasUnfinishedCopy = try db.tableExists("copy")
        guard case .current = out.schema else { return }
        out.counts = try StoredCounts.all(
            SQLiteTables(HotStatements(), db), recent: try StoredCounts.recentKeys(db))
        out.lanes = try StoredCounts.waiting(db)
    }

    /// Whether a gateway uses the folder. It is locked for a moment only.
    private static func isLocked(_ folder: String) -> Bool {
        let lock = open("\(folder)/signalbox.sqlite", O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { return false }
        defer { Glibc.close(lock) }
        return flock(lock, LOCK_SH | LOCK_NB) != 0
    }

    /// Creates the tables if they are missing. Returns whether it did.
    public static func migrate(folder: String) throws -> Bool {
        let before = try status(folder: folder).schema
        let contents = try SQLiteContents(folder: folder, .source)
        contents.close()
        return before == .missing
    }
}
