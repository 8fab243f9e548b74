/// How much history a store keeps; what is older or too much is removed, the oldest first.
public struct HistoryLimits: Sendable, Hashable {
    /// How long, in milliseconds.
    public var keepMs: UInt64
    /// How many bytes.
    public var bytesMax: UInt64

    /// Makes limits.
    public init(keepMs: UInt64 = 7 * 86_400_000, bytesMax: UInt64 = 1 << 30) {
        self.keepMs = keepMs
        self.bytesMax = bytesMax
    }

    /// Nothing.
    public static let none = HistoryLimits(keepMs: 0, bytesMax: 0)
}

/// One step of a search, from new to old.
public struct HistorySearch: Sendable {
    /// Rows with any of these.
    public var tags: [HistoryTag]
    /// Where the page before ended; nil for the newest rows.
    public var cursor: UInt64?
    /// Older rows are of no interest, in Unix milliseconds of the store.
    public var sinceUnixMs: UInt64

    /// Begins a search.
    public init(_ tags: [HistoryTag], sinceUnixMs: UInt64 = 0) {
        self.tags = tags
        self.sinceUnixMs = sinceUnixMs
    }
}

/// What one step of a search found.
public struct HistoryPage: Sendable {
    /// Rows that have one of the tags, newest first. Rows of one gateway are in order; those of several, nearly.
    public var rows: [HistoryRow] = []
    /// Where the next step continues; nil if there is nothing older.
    public var next: UInt64?

    /// An empty page.
    public init() {}
}

/// The searchable history of events and deliveries.
///
/// It is part of the commits it describes (`StoreEntry.Item.history`, `OutcomePack.history`), so it is neither ahead
/// nor behind. It has the lowest priority: a store that is short of space writes no history, and no call fails for it.
public protocol HistoryStore: Sendable {
    /// Sets how much is kept; until then nothing is recorded.
    func keepHistory(_ limits: HistoryLimits)
    /// Looks at some MiB of rows.
    func history(_ search: HistorySearch) async throws -> HistoryPage
}
