internal import GRDB
internal import SignalboxCore

/// Dedupe keys of accepted events, within their window.
///
/// New keys are kept in memory and in one row per commit; a tree of random keys would cost a page of the log for
/// each. When there are many, they are sorted and moved into such a tree a few at a time, where neighbours share
/// pages.
struct SeenKeys {
    /// How many are kept in memory before they move.
    static let recentMax = 65_536
    /// At least this many move per commit.
    private static let moveMin = 256

    private var seed: (UInt64, UInt64) = (0, 0)
    /// When each expires, in Unix milliseconds.
    private var recent: [SeenKey: Int64] = [:]
    private var groups: [Group] = []
    /// Keys that move into the tree, in order; those before `moved` are done.
    private var frozen: [(key: SeenKey, until: Int64)] = []
    private var frozenUntil: [SeenKey: Int64] = [:]
    private var frozenGroup: Int64 = 0
    private var moved = 0
    private var lastGroup: Int64 = 0
    private var hasTree = false
    /// The search for expired keys continues here.
    private var swept: [UInt8] = []

    /// A row of keys of one commit.
    private struct Group {
        var id: Int64
        var lastUntil: Int64
        var keys: [SeenKey]
    }

    // State of the transaction.
    private var new: [(key: SeenKey, until: Int64, before: Int64?)] = []
    private var movedBefore = 0

    // MARK: The start

    /// Reads what the previous process knew.
    mutating func start(_ hot: HotStatements, _ db: Database) throws {
        seed = try Self.seed(db)
        let rows = try hot.statement(.allSeenGroups, db)
        while try rows.step() {
            var group = Group(id: rows.number(0), lastUntil: 0, keys: [])
            rows.withBytes(1) { bytes in
                Self.each(bytes) { key, until in
                    group.keys.append(key)
                    group.lastUntil = max(group.lastUntil, until)
                    recent[key] = until
                }
            }
            lastGroup = group.id
            groups.append(group)
        }
        hasTree = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM seen_key)") ?? false
    }

    /// The keys of a group, and when each expires.
    static func each(_ bytes: UnsafeRawBufferPointer, _ body: (SeenKey, Int64) -> Void) {
        for start in stride(from: 0, through: bytes.count - 24, by: 24) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + 24])
            let until = part.loadUnaligned(fromByteOffset: 16, as: Int64.self)
            body(SeenKey(part), Int64(bigEndian: until))
        }
    }

    static func seed(_ db: Database) throws -> (UInt64, UInt64) {
        func part(_ name: String) throws -> UInt64 {
            let sql = "SELECT value FROM counter WHERE name = ? AND typeof(value) = 'integer'"
            if let known = try Int64.fetchOne(db, sql: sql, arguments: [name]) {
                return UInt64(bitPattern: known)
            }
            let made = UInt64.random(in: .min ... .max)
            try db.execute(
                sql: "INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)",
                arguments: [name, Int64(bitPattern: made)])
            return made
        }
        return (try part("seen_seed_0"), try part("seen_seed_1"))
    }

    // MARK: Asking

    /// Whether an event's key was seen within its window; remembers it if not.
    mutating func isDuplicate(
        _ source: String, _ dedupe: String, nowUnixMs: Int64, windowMs: Int64,
        _ hot: HotStatements, _ db: Database
    ) throws -> Bool {
        if try isKnown(source, dedupe, nowUnixMs: nowUnixMs, hot, db) { return true }
        let key = SeenKey(seed: seed, source, dedupe)
        let (before, until) = (recent[key], nowUnixMs + windowMs)
        recent[key] = until
        new.append((key, until, before))
        return false
    }

    /// Whether a key was seen within its window.
    func isKnown(
        _ source: String, _ dedupe: String, nowUnixMs: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> Bool {
        let key = SeenKey(seed: seed, source, dedupe)
        if let until = recent[key], until > nowUnixMs { return true }
        if let until = frozenUntil[key], until > nowUnixMs { return true }
        return try hasTree && isInTree(key, nowUnixMs, hot, db)
    }

    /// Remembers pushes that their users may open.
    mutating func remember(
        _ shown: [OpenClaim], nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws {
        for claim in shown {
            _ = try isDuplicate(
                OpenClaim.shown, claim.key, nowUnixMs: Int64(clamping: nowUnixMs),
                windowMs: Int64(clamping: OpenClaim.lifeMs), hot, db)
        }
    }

    func wereShown(
        _ claims: [OpenClaim], nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws -> [Bool] {
        try claims.map {
            try isKnown(OpenClaim.shown, $0.key, nowUnixMs: Int64(clamping: nowUnixMs), hot, db)
        }
    }

    private func isInTree(
        _ key: SeenKey, _ now: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> Bool {
        let find = try hot.statement(.findSeenKey, db)
        find.bind(blob: key.bytes)
        guard try find.step() else { return false }
        defer { find.end() }
        return find.number(0) > now
    }

    // MARK: Writing

    /// Writes new keys, and moves some old ones.
    mutating func flush(nowUnixMs: Int64, _ hot: HotStatements, _ db: Database) throws {
        movedBefore = moved
        guard !new.isEmpty else { return }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(new.count * 24)
        for (key, until, _) in new {
            key.append(to: &bytes)
            withUnsafeBytes(of: until.bigEndian) { bytes.append(contentsOf: $0) }
        }
        let insert = try hot.statement(.insertSeenGroup, db)
        insert.bind(lastGroup + 1)
        try insert.run(last: bytes)
        try move(max(Self.moveMin, 4 * new.count), nowUnixMs, hot, db)
    }

    private mutating func move(
        _ count: Int, _ now: Int64, _ hot: HotStatements, _ db: Database
    ) throws {
        guard moved < frozen.count else { return }
        let end = min(frozen.count, moved + count)
        for (key, until) in frozen[moved..<end] where until > now {
            let insert = try hot.statement(.insertSeenKey, db)
            insert.bind(blob: key.bytes)
            insert.bind(until)
            try insert.run()
        }
        moved = end
        try sweep(2 * count, now, hot, db)
        if moved == frozen.count {
            let remove = try hot.statement(.removeSeenGroups, db)
            remove.bind(frozenGroup)
            try remove.run()
        }
    }

    /// Searches a part of the tree for expired keys.
    private mutating func sweep(
        _ count: Int, _ now: Int64, _ hot: HotStatements, _ db: Database
    ) throws {
        let last = try hot.statement(.seenKeyAfter, db)
        last.bind(blob: swept)
        last.bind(Int64(count))
        var next: [UInt8] = []
        if try last.step() {
            next = last.withBytes(0) { Array($0) }
            last.end()
        }
        let remove = try hot.statement(.removeSeenKeys, db)
        remove.bind(blob: swept)
        // At the end it starts over.
        remove.bind(blob: next.isEmpty ? [UInt8](repeating: 0xFF, count: 17) : next)
        remove.bind(now)
        try remove.run()
        swept = next
    }

    /// Removes expired keys.
    mutating func forget(nowUnixMs: Int64, _ hot: HotStatements, _ db: Database) throws {
        if hasTree { try sweep(2_000, nowUnixMs, hot, db) }
        // Keys that are moving are removed once they are in the tree.
        guard frozen.isEmpty else { return }
        let old = groups.prefix { $0.lastUntil <= nowUnixMs }
        guard let last = old.last else { return }
        let remove = try hot.statement(.removeSeenGroups, db)
        remove.bind(last.id)
        try remove.run()
        for group in old {
            for key in group.keys {
                if let until = recent[key], until <= nowUnixMs { recent[key] = nil }
            }
        }
        groups.removeFirst(old.count)
    }

    // MARK: The end of a transaction

    mutating func committed() {
        if !new.isEmpty {
            lastGroup += 1
            let last = new.reduce(0) { max($0, $1.until) }
            groups.append(Group(id: lastGroup, lastUntil: last, keys: new.map(\.key)))
            new.removeAll(keepingCapacity: true)
        }
        if !frozen.isEmpty, moved == frozen.count {
            hasTree = true
            frozen = []
            frozenUntil = [:]
            moved = 0
        } else if moved > movedBefore {
            hasTree = true
        }
        movedBefore = moved
        guard frozen.isEmpty, recent.count >= Self.recentMax else { return }
        frozen = recent.map { ($0.key, $0.value) }.sorted { $0.key < $1.key }
        frozenUntil = recent
        frozenGroup = lastGroup
        recent = [:]
        groups = []
    }

    mutating func rolledBack() {
        for (key, _, before) in new.reversed() { recent[key] = before }
        new.removeAll(keepingCapacity: true)
        moved = movedBefore
    }
}
