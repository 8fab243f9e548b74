/// What happened to an event on arrival.
public struct HistoryEvent: Sendable, Hashable {
    /// The gateway's id of it.
    public var id: UInt64
    /// When it arrived, in Unix milliseconds.
    public var receivedUnixMs: UInt64
    /// The instance that it came from.
    public var source: String
    /// Its id at the source; may be empty.
    public var sourceID: String
    /// Its type.
    public var type: String
    /// What it was about.
    public var subject: String
    /// The routes whose sources and types fit it.
    public var routes: [HistoryRoute] = []
    /// Its recipients on each route that takes it; on no route if none does.
    public var targets: [HistoryTarget] = []
    /// An event with the same source and id was accepted before, so nothing was sent.
    public var isDuplicate = false

    /// Describes an event.
    public init(_ event: Event, receivedUnixMs: UInt64) {
        id = event.id
        self.receivedUnixMs = receivedUnixMs
        source = event.source
        sourceID = event.dedupe
        type = event.type
        subject = event.subject
    }
}

/// A route that was considered for an event.
public struct HistoryRoute: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Why it does not take the event; empty if it does.
    public var unmet = ""
    /// The builder failed, for this reason; empty if it did not.
    public var fault = ""

    /// Makes one.
    public init(_ name: String, unmet: String = "", fault: String = "") {
        self.name = name
        self.unmet = unmet
        self.fault = fault
    }
}

/// A recipient of an event on a route.
public struct HistoryTarget: Sendable, Hashable {
    /// Index of the route among those of the event; nil if there is no route.
    public var route: Int?
    /// May be empty.
    public var user: String
    /// May be empty.
    public var app: String
    /// `ios`, ...; empty for a user without a device.
    public var platform: String
    /// End of the token.
    public var token: String
    /// Who sends to it; empty if it was left out.
    public var sender = ""
    /// The delivery; 0 if it was left out.
    public var delivery: UInt64 = 0
    /// Why it was left out; empty if it was not.
    public var skipped = ""
    /// When a filter of the route lets it be sent, in Unix milliseconds; 0: at once.
    public var notBeforeUnixMs: UInt64 = 0

    /// Describes a recipient that gets nothing.
    public init(_ device: Device, route: Int?, skipped: String) {
        self.init(device, route: route)
        self.skipped = skipped
    }

    /// Describes a delivery.
    public init(_ delivery: Delivery, route: Int) {
        self.init(delivery.device, route: route)
        sender = delivery.sender
        self.delivery = delivery.id
    }

    private init(_ device: Device, route: Int?) {
        self.route = route
        user = device.user
        app = device.app
        platform = device.platform
        token = device.token.isEmpty ? "" : DeadLetter.redacted(device.token)
    }
}

extension HistoryEvent: RecordValue {
    /// Writes the fields; whether it is a duplicate is known to the record's kind.
    public func write(to out: inout RecordWriter) {
        out.put(0, id)
        out.put(1, receivedUnixMs)
        out.put(2, source)
        out.put(3, sourceID)
        out.put(4, type)
        out.put(5, subject)
        out.put(6, routes)
        out.put(7, targets)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        id = record.number(0)
        receivedUnixMs = record.number(1)
        source = try record.text(2)
        sourceID = try record.text(3)
        type = try record.text(4)
        subject = try record.text(5)
        routes = try record.list(6)
        targets = try record.list(7)
    }
}

extension HistoryRoute: RecordValue {
    /// Writes the fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, name)
        out.put(1, unmet)
        out.put(2, fault)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        name = try record.text(0)
        unmet = try record.text(1)
        fault = try record.text(2)
    }
}

extension HistoryTarget: RecordValue {
    /// Writes the fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, route.map { Int32(clamping: $0) })
        out.put(1, user)
        out.put(2, app)
        out.put(3, platform)
        out.put(4, token)
        out.put(5, sender)
        out.put(6, delivery)
        out.put(7, skipped)
        out.put(8, notBeforeUnixMs)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        route = record.optional(0).map { Int($0) }
        user = try record.text(1)
        app = try record.text(2)
        platform = try record.text(3)
        token = try record.text(4)
        sender = try record.text(5)
        delivery = record.number(6)
        skipped = try record.text(7)
        notBeforeUnixMs = record.number(8)
    }
}
