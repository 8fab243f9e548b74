internal import SignalboxCore
internal import SignalboxJSON

extension SendEndpoint: WireRecord {
    static let layout = WireLayout(
        Self.init, \.origin, \.caFile, \.clientIdentity, \.isALPNRequired,
        \.isOneStreamFirst, \.isAtMostOnce, \.isREST, \.allowsPrivateOrigins, \.isShared,
        \.requestTimeoutMs, \.connectTimeoutMs, \.pingIdleMs, \.pingTimeoutMs, \.connectionsMax,
        \.streamsMax)
}

/// A client's certificate with its key.
extension SendEndpoint.ClientIdentity: WireRecord {
    static let layout = WireLayout(Self.init, \.certificate, \.key)
}

extension IngestRequest: WireRecord {
    static let layout = WireLayout(
        in: Self(method: "", path: "", pattern: "", body: [], receivedUnixMs: 0),
        \.method, \.path, \.pattern, \.query, \.remote, \.clientCertificate, \.body, \.params,
        \.headers, \.receivedUnixMs)
}

extension IngestResult: WireRecord {
    static let layout = WireLayout(in: Self(), \.events, \.changes, \.rejects, \.answer, \.fault)
}

extension IngestResult.Answer: WireRecord {
    static let layout = WireLayout(Self.init, \.status, \.headers, \.body)
}

extension IngestResult.Reject: WireRecord {
    static let layout = WireLayout(Self.init, \.reason, \.detail)
}

/// The receiver parses the data again to validate it.
extension BuiltContent: WireValue {
    func write(to writer: WireWriter) {
        writer.put(notification)
        writer.put(targets)
    }

    convenience init(from reader: inout WireReader) throws(WireFault) {
        let note = try reader.value(PushNotification.self)
        let data = note.data.isEmpty ? nil : JSONKinds.object(note.data)
        guard note.data.isEmpty || data != nil else {
            throw WireFault("the data of a notification is not a JSON object")
        }
        guard note.overrides.allSatisfy({ JSONKinds.isObjectOrEmpty($0.json) }) else {
            throw WireFault("an override is not a JSON object")
        }
        self.init(notification: note, targets: try reader.value(), data: data)
    }
}

extension BuiltContent.Target: WireRecord {
    static let layout = WireLayout(Self.init, \.recipient, \.badge)
}

extension FanOut.Skip: WireRecord {
    static let layout = WireLayout(Self.init, \.recipient, \.reason)
}

extension BuildResult: WireRecord {
    static let layout = WireLayout(in: Self(), \.contents, \.skips)
}

extension Filtered: WireRecord {
    static let layout = WireLayout(in: Self(), \.parts, \.drops)
}

/// The receiver parses the data again to validate it.
extension Filtered.Part: WireValue {
    func write(to writer: WireWriter) {
        writer.put(recipients)
        writer.put(data?.text)
        writer.put(notBeforeUnixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(recipients: try reader.value())
        if let text = try reader.value(String?.self) {
            guard let parsed = JSONKinds.object(text) else {
                throw WireFault("the data of a filter is not a JSON object")
            }
            data = JSONText(text, parsed: parsed)
        }
        notBeforeUnixMs = try reader.value()
    }
}

extension PrepareResult: WireValue {
    func write(to writer: WireWriter) {
        switch self {
        case .ready(let requests, let settled):
            writer.put(UInt8(0))
            writer.put(requests)
            writer.put(settled)
        case .again: writer.put(UInt8(1))
        case .failed(let fault):
            writer.put(UInt8(2))
            writer.put(fault)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        switch try reader.value(UInt8.self) {
        case 0: self = .ready(try reader.value(), settled: try reader.value())
        case 1: self = .again(isRestarting: false)
        case 2: self = .failed(try reader.value())
        default: throw WireFault("there is no such answer to prepare")
        }
    }
}
