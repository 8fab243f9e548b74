/// All that a store keeps, while no gateway uses it: for copies from one engine to another.
///
/// Calls block, and come from one thread at a time.
public protocol StoreContents: AnyObject {
    /// Where the store is, for people; without a secret.
    var place: String { get }
    /// Changes whenever a gateway starts on the store.
    func identity() throws -> String
    /// How many records there are of each kind; an outcome counts as one.
    func counts() throws -> [StoredKind: Int]
    /// The records of a kind after the last one of the previous page, in an order that never changes.
    func page(_ kind: StoredKind, after: String) throws -> StorePage
    /// The progress of a copy into this store; nil if no copy is running.
    ///
    /// A store that was made for a copy has the mark of no source before it has its first table.
    func mark() throws -> CopyMark?
    /// The last mark of the copy that made this store; nil if no copy has finished here.
    func finished() throws -> CopyMark?
    /// Adds records, and replaces the mark of the copy, as one transaction. Fails if the store's mark is not `old`.
    ///
    /// As long as there is a mark, no gateway starts on the store. `mark` is nil when the copy has finished; the store
    /// then keeps `old` for `finished()`.
    func write(_ records: [StoredRecord], mark: CopyMark?, replacing old: CopyMark?) throws
    /// Releases the store.
    func close()
}

/// The role of a store in a copy.
public enum CopyRole: Sendable {
    /// It is read. It must exist.
    case source
    /// It is written. It is made if it does not exist.
    case target
}

/// Some records of one kind.
public struct StorePage: Sendable {
    /// In order.
    public var records: [StoredRecord] = []
    /// The position of the last record, in a format of the engine; the next page begins after it.
    public var end: String
    /// Whether these are the last of their kind.
    public var isLast = true
    /// Deliveries that were left out because they are damaged.
    public var damaged = 0

    /// A page without records.
    public init(after: String) { end = after }
}

/// How far a copy has come, as its target remembers it.
public struct CopyMark: Sendable, Hashable {
    /// The identity of the store that is copied; empty if no copy was begun yet.
    public var source: String
    /// The kind that is copied next.
    public var kind: StoredKind
    /// After which record of it.
    public var after: String
    /// Damaged deliveries that were left out so far.
    public var damaged: Int

    /// The beginning of a copy.
    public init(source: String) {
        self.init(source: source, kind: .numbers, after: "", damaged: 0)
    }

    /// Makes a mark.
    public init(source: String, kind: StoredKind, after: String, damaged: Int) {
        self.source = source
        self.kind = kind
        self.after = after
        self.damaged = damaged
    }
}
