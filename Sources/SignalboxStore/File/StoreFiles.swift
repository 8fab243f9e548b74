internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import SignalboxCore
internal import SignalboxTables
internal import Synchronization

/// The folder of a store: the database, whose lock keeps a second gateway out.
///
/// The lock is on the database file itself, so that no lock file can be removed or replaced to let another gateway in.
/// It is a `flock`, which does not disturb SQLite's own locks; its descriptor is closed after SQLite's, since closing
/// one drops the locks that SQLite holds through another.
final class StoreFiles: Sendable {
    let path: String
    private let lock: Int32
    /// The write-ahead log that SQLite has open: it is kept as long as a connection is.
    private let log = Mutex<FileID?>(nil)
    private let logPath: String

    init(folder: String) throws(StoreError) {
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw StoreError(
                "store-not-writable",
                "the data folder \(folder) cannot be made: \(String(cString: strerror(errno)))")
        }
        let path = "\(folder)/signalbox.sqlite"
        self.path = path
        logPath = "\(path)-wal"
        // Before it is made.
        try Self.requireWhole(path)
        lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw StoreError(
                "store-not-writable",
                "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(lock)
            throw StoreError(
                "store-in-use",
                "another gateway uses the data folder \(folder); give each its own gateway.data")
        }
        do throws(StoreError) {
            try requirePlace()
            try makePrivate()
        } catch {
            unlock()
            throw error
        }
    }

    /// The file that is locked is the one that SQLite will open: another one may have taken its place meanwhile.
    private func requirePlace() throws(StoreError) {
        var own = stat()
        var there = stat()
        guard fstat(lock, &own) == 0, stat(path, &there) == 0, own.st_ino == there.st_ino,
            own.st_dev == there.st_dev
        else {
            throw StoreError(
                "store-in-use", "\(path) was replaced while it was opened; start again")
        }
    }

    /// A write-ahead log is useless without its database: SQLite would silently remove it, and the latest commits with
    /// it.
    static func requireWhole(_ path: String) throws(StoreError) {
        func bytes(_ file: String) -> Int? {
            var facts = stat()
            return stat(file, &facts) == 0 ? Int(facts.st_size) : nil
        }
        let database = bytes(path)
        guard database ?? 0 == 0, let log = bytes("\(path)-wal"), log > 0 else { return }
        throw StoreError(
            "store-damaged",
            "\(path) is \(database == nil ? "missing" : "empty"), and its -wal file beside it has \(log) bytes: put "
                + "the database back from where it was moved or from a copy, or move the -wal file away to start anew"
        )
    }

    /// Tokens and message texts stay private, whatever the umask and the folder's mode are.
    ///
    /// SQLite gives new logs the mode of the database. A backup that was restored may have any.
    private func makePrivate() throws(StoreError) {
        for file in [path, "\(path)-wal", "\(path)-shm"] {
            var facts = stat()
            guard stat(file, &facts) == 0, facts.st_mode & 0o777 != 0o600 else { continue }
            guard chmod(file, 0o600) == 0 else {
                throw StoreError(
                    "store-not-writable",
                    "\(file) cannot be made private: \(String(cString: strerror(errno))); it must "
                        + "belong to the user that runs signalbox")
            }
        }
    }

    /// Whether the database file, or the log with its newest commits, was removed, renamed or replaced since it was
    /// opened.
    func hasMoved(_ db: Database) -> Bool {
        var hasMoved: Int32 = 0
        let status = sqlite3_file_control(
            db.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        if status == SQLITE_OK, hasMoved != 0 { return true }
        let now = FileID(path: logPath)
        return log.withLock { log in
            if log == nil { log = now }
            return log != now
        }
    }

    /// Free bytes on the disk of a file.
    static func freeBytes(_ path: String) -> UInt64 { DiskSpace.free(path) }

    /// Unlocks by name: a child process that is just being started may hold the descriptor, too.
    func unlock() {
        flock(lock, LOCK_UN)
        Glibc.close(lock)
    }

    /// Opens the database, and creates its tables if they are missing. A database made for a copy gets the mark of an
    /// unfinished copy in the same transaction, so that no gateway starts on it if the copy is interrupted.
    func database(bytesMax: Int, forCopy: Bool = false) throws(StoreError) -> DatabaseQueue {
        do {
            var configuration = Configuration()
            configuration.journalMode = .wal
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA cache_size = -4096")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 16000")
                if bytesMax > 0 {
                    let pageBytes = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4096
                    try db.execute(sql: "PRAGMA max_page_count = \(max(64, bytesMax / pageBytes))")
                }
            }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try Self.makeCommitsLast(queue)
            switch try queue.read(Schema.find) {
            case .current: break
            case .missing:
                try queue.write { db in
                    if forCopy { try db.execute(sql: CopyMark.makeTable.sqlite) }
                    try Schema.make(db)
                }
            case .unknown(let number): throw Schema.fault(path, found: number)
            }
            return queue
        } catch {
            unlock()
            throw (error as? StoreError) ?? fault(error)
        }
    }

    /// A copy into the database that was not finished lacks deliveries.
    func requireNoCopy(_ queue: DatabaseQueue) throws(StoreError) {
        do {
            guard try queue.read({ try $0.tableExists("copy") }) else { return }
        } catch {
            unlock()
            throw fault(error)
        }
        unlock()
        throw StoreError.unfinishedCopy(path)
    }

    /// A commit that was reported must outlive a power cut.
    ///
    /// After the file is open: GRDB sets less than that for a write-ahead log once the connection is prepared.
    private static func makeCommitsLast(_ queue: DatabaseQueue) throws {
        let level = try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard level == 2 else {
            throw StoreError("store-failed", "SQLite does not sync each commit to the disk")
        }
    }

    private static func full(_ path: String) -> StoreError {
        StoreError("store-full", "the disk that holds \(path) is full; remove something from it")
    }

    /// Turns an SQLite error into a message that says what to do.
    func fault(_ error: any Error) -> StoreError { Self.fault(error, path: path) }

    static func fault(
        _ error: any Error, path: String, freeBytes: (String) -> UInt64 = DiskSpace.free
    ) -> StoreError {
        if let own = error as? StoreFailure { return StoreError("store-failed", own.message) }
        guard let error = error as? DatabaseError else {
            return StoreError("store-failed", "\(path): \(error)")
        }
        switch error.resultCode.primaryResultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            return StoreError(
                "store-damaged",
                "\(path) is damaged. Move it away together with its -wal file and start anew; "
                    + "docs/operations.md says how to save what can be read of the old one")
        case .SQLITE_FULL: return full(path)
        // A write-ahead log cannot be made.
        case .SQLITE_IOERR where freeBytes(path) < 1 << 20: return full(path)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            return StoreError("store-not-writable", "\(path) cannot be written; check its owner")
        default:
            return StoreError(
                "store-failed",
                "\(path): \(error.resultCode): \(error.message ?? "no reason given")")
        }
    }
}

/// What tells a file from another one that takes its path.
private struct FileID: Equatable {
    let device: UInt64
    let inode: UInt64

    init?(path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        (device, inode) = (UInt64(facts.st_dev), UInt64(facts.st_ino))
    }
}
