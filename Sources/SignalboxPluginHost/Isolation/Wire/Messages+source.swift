internal import SignalboxCore

/// A batch of a source, with a number of its process.
struct BatchMessage: WireRecord {
    var number: UInt64
    var receivedUnixMs: UInt64
    var events: [Event]

    static let layout = WireLayout(Self.init, \.number, \.receivedUnixMs, \.events)
}

/// The verdict on a batch.
struct SettledMessage: WireRecord {
    var number: UInt64
    var verdict: SourceVerdict

    static let layout = WireLayout(Self.init, \.number, \.verdict)
}

extension SourceVerdict: WireValue {
    func write(to writer: WireWriter) {
        switch self {
        case .stored(let count, let repeated):
            writer.put(true)
            writer.put(count)
            writer.put(repeated)
        case .again(let ms):
            writer.put(false)
            writer.put(ms)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self =
            try reader.value()
            ? .stored(count: try reader.value(), repeated: try reader.value())
            : .again(afterMs: try reader.value())
    }
}

/// Outcomes for an observer.
extension Observation: WireRecord {
    static let layout = WireLayout(Self.init, \.sequence, \.json)
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
        switch try reader.value(UInt8.self) {
        case 0: self = .taken
        case 1: self = .later(afterMs: try reader.value(), reason: try reader.value())
        case 2: self = .refused(reason: try reader.value())
        default: throw WireFault("there is no such verdict")
        }
    }
}
