internal import SignalboxCore

/// Asks a translator where an app's requests go.
struct EndpointMessage: WireValue {
    var role: TranslatorRole
    var app: String

    init(role: TranslatorRole, app: String) {
        self.role = role
        self.app = app
    }

    func write(to writer: WireWriter) {
        writer.put(role.rawValue)
        writer.put(app)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        role = try reader.role()
        app = try reader.text()
    }
}

/// Deliveries for a translator to render.
struct PrepareMessage: WireValue {
    var role: TranslatorRole
    var app: String
    var batch: WireDeliveries

    init(role: TranslatorRole, app: String, deliveries: [Delivery]) {
        self.role = role
        self.app = app
        batch = WireDeliveries(deliveries)
    }

    func write(to writer: WireWriter) {
        writer.put(role.rawValue)
        writer.put(app)
        writer.put(batch)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        role = try reader.role()
        app = try reader.text()
        batch = try reader.value()
    }
}

/// Responses for a translator to read.
struct ClassifyMessage: WireValue {
    var role: TranslatorRole
    var app: String
    var responses: [HTTPResponse]

    init(role: TranslatorRole, app: String, responses: [HTTPResponse]) {
        self.role = role
        self.app = app
        self.responses = responses
    }

    func write(to writer: WireWriter) {
        writer.put(role.rawValue)
        writer.put(app)
        writer.put(responses)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        role = try reader.role()
        app = try reader.text()
        responses = try reader.list()
    }
}

/// An event to build notifications of.
struct BuildMessage: WireValue {
    var event: Event
    var recipients: [Recipient]
    var route: String
    var options: String

    init(event: Event, recipients: [Recipient], route: String, options: String) {
        self.event = event
        // The plugin does not need them: the recipients it builds for are a field of their own.
        self.event.recipients = []
        self.recipients = recipients
        self.route = route
        self.options = options
    }

    func write(to writer: WireWriter) {
        writer.put(event)
        writer.put(recipients)
        writer.put(route)
        writer.put(options)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        event = try reader.value()
        recipients = try reader.list()
        route = try reader.text()
        options = try reader.text()
    }
}

/// An event to filter.
struct FilterMessage: WireValue {
    /// As for a builder.
    var asked: BuildMessage
    var nowUnixMs: UInt64

    init(_ asked: BuildMessage, nowUnixMs: UInt64) {
        self.asked = asked
        self.nowUnixMs = nowUnixMs
    }

    func write(to writer: WireWriter) {
        writer.put(asked)
        writer.put(nowUnixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        asked = try reader.value()
        nowUnixMs = try reader.number()
    }
}

/// The reply to an ingest call.
enum IngestMessage: WireValue {
    case done(IngestResult)
    /// The result comes later, within this many milliseconds.
    case deferred(timeoutMs: UInt32)

    func write(to writer: WireWriter) {
        switch self {
        case .done(let result):
            writer.put(false)
            writer.put(result)
        case .deferred(let ms):
            writer.put(true)
            writer.put(ms)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self =
            try reader.flag()
            ? .deferred(timeoutMs: try reader.number()) : .done(try reader.value())
    }
}

/// Deliveries for a plugin with its own transport; outcomes name the flight.
struct SubmitMessage: WireValue {
    var app: String
    var flight: UInt64
    var batch: WireDeliveries

    init(app: String, flight: UInt64, deliveries: [Delivery]) {
        self.app = app
        self.flight = flight
        batch = WireDeliveries(deliveries)
    }

    func write(to writer: WireWriter) {
        writer.put(app)
        writer.put(flight)
        writer.put(batch)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        app = try reader.text()
        flight = try reader.number()
        batch = try reader.value()
    }
}

/// Outcomes of a flight.
struct OutcomesMessage: WireValue {
    var flight: UInt64
    var outcomes: [Outcome]

    init(flight: UInt64, outcomes: [Outcome]) {
        self.flight = flight
        self.outcomes = outcomes
    }

    func write(to writer: WireWriter) {
        writer.put(flight)
        writer.put(outcomes)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        flight = try reader.number()
        outcomes = try reader.list()
    }
}

/// A translator's result for responses.
struct ClassifiedMessage: WireValue {
    var settled: [Outcome]
    var requests: RequestBatch

    init(settled: [Outcome], requests: RequestBatch) {
        self.settled = settled
        self.requests = requests
    }

    func write(to writer: WireWriter) {
        writer.put(settled)
        writer.put(requests)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        settled = try reader.list()
        requests = try reader.value()
    }
}

extension WireReader {
    mutating func role() throws(WireFault) -> TranslatorRole {
        guard let role = TranslatorRole(rawValue: try number()) else {
            throw WireFault("there is no such role")
        }
        return role
    }
}
