internal import GRDB
internal import Glibc
internal import SignalboxThreads

/// Whether the disk has room for events.
///
/// Events stop before the disk is full: outcomes and leases need a little room too, and only they free more.
struct StoreRoom {
    static let freeBytesMin: UInt64 = 32 << 20
    private let files: StoreFiles
    private let bytesMax: Int
    private let freeBytes: @Sendable (String) -> UInt64
    private(set) var isEnough = true
    private var knownNs: UInt64 = 0
    private var givenBackNs: UInt64 = 0

    init(
        _ files: StoreFiles, bytesMax: Int, freeBytes: @escaping @Sendable (String) -> UInt64
    ) {
        self.files = files
        self.bytesMax = bytesMax
        self.freeBytes = freeBytes
    }

    /// Looks again, if it is time; whether something has changed.
    mutating func look(_ db: Database) throws -> Bool {
        let now = SystemClock.monotonicNs
        // A database with a size limit is checked each time.
        guard bytesMax > 0 || now > knownNs + 500_000_000 || knownNs == 0 else { return false }
        knownNs = now
        let had = isEnough
        isEnough = try hasRoom(db)
        if !isEnough, !db.isInsideTransaction, now > givenBackNs + 1_000_000_000 {
            givenBackNs = now
            giveLogBack(db)
            isEnough = try hasRoom(db)
        }
        return isEnough != had
    }

    private func hasRoom(_ db: Database) throws -> Bool {
        func number(_ pragma: String) throws -> Int {
            try Int.fetchOne(db, sql: "PRAGMA \(pragma)") ?? 0
        }
        let free = freeBytes(files.path)
        if free <= Self.freeBytesMin {
            // Free pages of the file are room, but what goes into them goes through the log first.
            guard free > Self.freeBytesMin / 2 else { return false }
            let inside = try number("freelist_count") * number("page_size")
            guard free + UInt64(clamping: inside) > Self.freeBytesMin else { return false }
        }
        guard bytesMax > 0 else { return true }
        let used = try number("page_count") - number("freelist_count")
        return used * 10 < (try number("max_page_count")) * 9
    }

    /// The log keeps its size once its pages are in the file, unless it is cut.
    ///
    /// Without patience: while somebody reads, it waits for the next time.
    private func giveLogBack(_ db: Database) {
        var facts = stat()
        guard stat("\(files.path)-wal", &facts) == 0, facts.st_size > 0 else { return }
        guard let patience = try? Int.fetchOne(db, sql: "PRAGMA busy_timeout") else { return }
        try? db.execute(sql: "PRAGMA busy_timeout = 0")
        _ = try? db.checkpoint(.truncate)
        try? db.execute(sql: "PRAGMA busy_timeout = \(patience)")
    }
}
