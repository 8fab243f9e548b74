internal import SignalboxCore

/// Asks a translator where an app's requests go.
struct EndpointMessage: WireRecord {
    var role: TranslatorRole
    var app: String

    static let layout = WireLayout(Self.init, \.role, \.app)
}

/// Deliveries for a translator to render.
struct PrepareMessage: WireRecord {
    var role: TranslatorRole
    var app: String
    var batch: WireDeliveries

    static let layout = WireLayout(Self.init, \.role, \.app, \.batch)
}

/// Responses for a translator to read.
struct ClassifyMessage: WireRecord {
    var role: TranslatorRole
    var app: String
    var responses: [HTTPResponse]

    static let layout = WireLayout(Self.init, \.role, \.app, \.responses)
}

/// An event to build notifications of.
struct BuildMessage: WireRecord {
    var event: Event
    var recipients: [Recipient]
    var route: String
    var options: String

    /// Its own recipients are left out: the plugin gets those that it builds for.
    init(event: Event, recipients: [Recipient], route: String, options: String) {
        self.event = event
        self.event.recipients = []
        self.recipients = recipients
        self.route = route
        self.options = options
    }

    static let layout = WireLayout(Self.init, \.event, \.recipients, \.route, \.options)
}

/// An event to filter.
struct FilterMessage: WireRecord {
    /// As for a builder.
    var asked: BuildMessage
    var nowUnixMs: UInt64

    static let layout = WireLayout(Self.init, \.asked, \.nowUnixMs)
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
            try reader.value()
            ? .deferred(timeoutMs: try reader.value()) : .done(try reader.value())
    }
}

/// Deliveries for a plugin with its own transport; outcomes name the flight.
struct SubmitMessage: WireRecord {
    var app: String
    var flight: UInt64
    var batch: WireDeliveries

    static let layout = WireLayout(Self.init, \.app, \.flight, \.batch)
}

/// Outcomes of a flight.
struct OutcomesMessage: WireRecord {
    var flight: UInt64
    var outcomes: [Outcome]

    static let layout = WireLayout(Self.init, \.flight, \.outcomes)
}

/// A translator's result for responses.
struct ClassifiedMessage: WireRecord {
    var settled: [Outcome]
    var requests: RequestBatch

    static let layout = WireLayout(Self.init, \.settled, \.requests)
}
