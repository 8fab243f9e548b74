internal import SignalboxCore

/// A batch of a source, with a number of its process.
struct BatchMessage: WireValue {
    var number: UInt64
    var receivedUnixMs: UInt64
    var events: [Event]

    init(number: UInt64, receivedUnixMs: UInt64, events: [Event]) {
        self.number = number
        self.receivedUnixMs = receivedUnixMs
        self.events = events
    }

    func write(to writer: WireWriter) {
        writer.put(number)
        writer.put(receivedUnixMs)
        writer.put(events)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        number = try reader.number()
        receivedUnixMs = try reader.number()
        events = try reader.list()
    }
}

/// The verdict on a batch.
struct SettledMessage: WireValue {
    var number: UInt64
    var verdict: SourceVerdict

    init(number: UInt64, verdict: SourceVerdict) {
        self.number = number
        self.verdict = verdict
    }

    func write(to writer: WireWriter) {
        writer.put(number)
        switch verdict {
        case .stored(let count, let repeated):
            writer.put(true)
            writer.put(UInt64(clamping: count))
            writer.put(UInt64(clamping: repeated))
        case .again(let ms):
            writer.put(false)
            writer.put(ms)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        number = try reader.number()
        guard try reader.flag() else {
            verdict = .again(afterMs: try reader.number())
            return
        }
        verdict = .stored(
            count: Int(clamping: try reader.number(UInt64.self)),
            repeated: Int(clamping: try reader.number(UInt64.self)))
    }
}

/// Outcomes for an observer.
extension Observation: WireValue {
    func write(to writer: WireWriter) {
        writer.put(sequence)
        writer.put(json)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(sequence: try reader.number(), json: try reader.bytes())
    }
}

/// An observer's answer to a batch.
extension ObserveVerdict: WireValue {
    func write(to writer: WireWriter) {
        switch self {
        case .taken: writer.put(UInt8(0))
        case .later(let ms, let reason):
            writer.put(UInt8(1))
            writer.put(ms)
            writer.put(reason)
        case .refused(let reason):
            writer.put(UInt8(2))
            writer.put(reason)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        switch try reader.number(UInt8.self) {
        case 0: self = .taken
        case 1: self = .later(afterMs: try reader.number(), reason: try reader.text())
        case 2: self = .refused(reason: try reader.text())
        default: throw WireFault("there is no such verdict")
        }
    }
}
