/// Something that happened to a delivery, or to what it showed.
public struct HistoryStep: Sendable, Hashable {
    /// What happened.
    public enum Kind: UInt32, Sendable, Hashable, CaseIterable {
        /// The provider took it.
        case delivered = 1
        /// An attempt failed, and there will be another.
        case retried = 2
        /// It failed for good, and is a dead letter.
        case failed = 3
        /// Its user opened the notification.
        case opened = 4
        /// Another gateway had leased it, and its lease had ended.
        case takenOver = 5
        /// An operator cancelled it.
        case cancelled = 6
        /// It was not sent again, since a newer one was accepted.
        case superseded = 7

        /// `delivered`, `taken_over`, ...
        public var name: String { self == .takenOver ? "taken_over" : "\(self)" }
    }

    /// What happened.
    public var kind: Kind
    /// The event.
    public var eventID: UInt64
    /// The delivery; 0 if it is not known.
    public var delivery: UInt64 = 0
    /// When, in Unix milliseconds.
    public var unixMs: UInt64
    /// 1, 2, ...; 0 if nothing was sent.
    public var attempt: UInt32 = 0
    /// From a closed list; may be empty.
    public var reason = ""
    /// The provider's code; 0 if there was no answer.
    public var code: UInt32 = 0
    /// For people; holds no token, secret or body.
    public var detail = ""
    /// The provider's id of the push; may be empty.
    public var providerID = ""
    /// When it is tried again, in Unix milliseconds; 0 if it is not.
    public var nextUnixMs: UInt64 = 0
    /// The gateway that held it before; the user who opened it.
    public var who = ""

    /// Makes one.
    public init(_ kind: Kind, eventID: UInt64, delivery: UInt64 = 0, unixMs: UInt64) {
        self.kind = kind
        self.eventID = eventID
        self.delivery = delivery
        self.unixMs = unixMs
    }
}

extension HistoryStep: RecordValue {
    /// Writes the fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, kind.rawValue)
        out.put(1, eventID)
        out.put(2, delivery)
        out.put(3, unixMs)
        out.put(4, attempt)
        out.put(5, reason)
        out.put(6, code)
        out.put(7, detail)
        out.put(8, providerID)
        out.put(9, nextUnixMs)
        out.put(10, who)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        guard let kind = Kind(rawValue: record.number(0)) else {
            throw RecordFault(what: "an unknown step")
        }
        self.init(
            kind, eventID: record.number(1), delivery: record.number(2), unixMs: record.number(3))
        attempt = record.number(4)
        reason = try record.text(5)
        code = record.number(6)
        detail = try record.text(7)
        providerID = try record.text(8)
        nextUnixMs = record.number(9)
        who = try record.text(10)
    }
}
