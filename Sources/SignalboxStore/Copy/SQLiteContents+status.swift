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

    /// Why a gateway could not start on a folder; nil: nothing is in its way, or there is no database yet.
    ///
    /// Looks also while a gateway uses the folder, and changes nothing.
    public static func startFault(folder: String) -> StoreError? {
        let path = "\(folder)/signalbox.sqlite"
        do throws(StoreError) { try StoreFiles.requireWhole(path) } catch { return error }
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let (isNewer, hasCopy) = try queue.read { db in
                (try Schema.migrator.hasBeenSuperseded(db), try CopyTable.isThere(db))
            }
            try queue.close()
            if isNewer { return StoreFiles.newer(path) }
            return hasCopy ? StoreError.unfinishedCopy(path) : nil
        } catch {
            return StoreFiles.fault(error, path: path)
        }
    }

    private static func fill(_ out: inout StoreStatus, _ db: Database) throws {
        let migrator = Schema.migrator
        let done = try migrator.appliedIdentifiers(db).count
        out.steps = (done, migrator.migrations.count)
        out.schema =
            try migrator.hasBeenSuperseded(db)
            ? .newer : done == 0 ? .missing : done < out.steps.known ? .older : .current
        out.hasUnfinishedCopy = try CopyTable.isThere(db)
        guard out.schema == .current else { return }
        out.counts = try StoredCounts.all(db, recent: try StoredCounts.recentKeys(db))
        out.lanes = try StoredCounts.waiting(db)
    }

    /// Whether a gateway uses the folder. It is locked for a moment only.
    private static func isLocked(_ folder: String) -> Bool {
        let lock = open("\(folder)/signalbox.sqlite", O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { return false }
        defer { Glibc.close(lock) }
        return flock(lock, LOCK_SH | LOCK_NB) != 0
    }

    /// Brings the tables up to date. Returns how many steps were done before, and now.
    public static func migrate(folder: String) throws -> (from: Int, to: Int) {
        let before = try status(folder: folder).steps.done
        let contents = try SQLiteContents(folder: folder, .source)
        contents.close()
        return (before, Schema.migrator.migrations.count)
    }
}
