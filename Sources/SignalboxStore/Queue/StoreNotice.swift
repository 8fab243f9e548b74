/// What a store notices by itself.
public enum StoreNotice: Sendable {
    /// A write failed; the store retries it.
    case fault(String)
    /// This many deliveries could not be read, and are now dead letters.
    case damaged(count: Int, String)
    /// A part of the write-ahead log could not be read: what it stored may be lost.
    case logDamaged(String)
    /// Events are refused: only the disk's reserve is left.
    case diskFull(String)
    /// The disk has room again.
    case diskHasRoom(String)
    /// The database file was removed or replaced: what is committed now is lost when the process ends, so
    /// events are refused.
    case fileGone(String)
    /// The database file is back.
    case fileIsBack(String)
    /// This many outcomes were dropped for a receiver as too old or too many. An empty name means
    /// all receivers: the disk was full.
    case outcomesLost(receiver: String, count: Int)
    /// A receiver was removed: this many outcomes were dropped with it.
    case receiverRemoved(String, count: Int)

    /// A message for the log.
    public var text: String {
        switch self {
        case .fault(let text), .damaged(_, let text), .diskFull(let text), .diskHasRoom(let text),
            .fileGone(let text), .fileIsBack(let text), .logDamaged(let text):
            text
        case .outcomesLost(_, let count): "\(count) outcomes are lost"
        case .receiverRemoved(let name, let count):
            "\(count) outcomes are lost with the receiver \(name)"
        }
    }
}
