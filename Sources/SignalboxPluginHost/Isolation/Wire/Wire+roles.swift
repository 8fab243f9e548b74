internal import SignalboxCore
internal import SignalboxJSON

extension PluginFault: WireValue {
    /// Longest error message that is kept whole, in bytes.
    private static let wordsMax = 4_096

    func write(to writer: WireWriter) {
        writer.put(kind.rawValue)
        writer.put(message)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let kind = Kind(rawValue: try reader.number()) else {
            throw WireFault("there is no such kind of fault")
        }
        let words = try reader.text()
        self.init(kind, words.utf8.count > Self.wordsMax ? String(words.prefix(1_000)) : words)
    }
}

extension SendEndpoint: WireValue {
    func write(to writer: WireWriter) {
        writer.put(origin)
        writer.put(caFile) { writer.put($0) }
        writer.put(clientIdentity) {
            writer.put($0.certificate)
            writer.put($0.key)
        }
        for flag in [isALPNRequired, isOneStreamFirst, isAtMostOnce] { writer.put(flag) }
        for flag in [isREST, allowsPrivateOrigins] { writer.put(flag) }
        for number in [
            requestTimeoutMs, connectTimeoutMs, pingIdleMs, pingTimeoutMs, connectionsMax,
            streamsMax,
        ] {
            writer.put(UInt32(clamping: number))
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let origin = try reader.text()
        let caFile = try reader.optional { reader throws(WireFault) in try reader.text() }
        let identity = try reader.optional { reader throws(WireFault) in
            ClientIdentity(certificate: try reader.bytes(), key: try reader.bytes())
        }
        let (isALPNRequired, isOneStreamFirst) = (try reader.flag(), try reader.flag())
        let isAtMostOnce = try reader.flag()
        let (isREST, allowsPrivateOrigins) = (try reader.flag(), try reader.flag())
        self.init(
            origin: origin, caFile: caFile, clientIdentity: identity,
            isALPNRequired: isALPNRequired, isOneStreamFirst: isOneStreamFirst,
            isAtMostOnce: isAtMostOnce, requestTimeoutMs: try reader.positive(),
            connectTimeoutMs: try reader.positive(), pingIdleMs: try reader.positive(),
            pingTimeoutMs: try reader.positive(), connectionsMax: try reader.positive(),
            streamsMax: try reader.positive())
        self.isREST = isREST
        self.allowsPrivateOrigins = allowsPrivateOrigins
    }
}

extension WireReader {
    fileprivate mutating func positive() throws(WireFault) -> Int {
        Int(try number(UInt32.self))
    }
}

extension IngestRequest: WireValue {
    func write(to writer: WireWriter) {
        for text in [method, path, pattern, query, remote, clientCertificate] { writer.put(text) }
        writer.put(body)
        writer.put(params)
        writer.put(headers)
        writer.put(receivedUnixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let (method, path, pattern) = (try reader.text(), try reader.text(), try reader.text())
        let (query, remote, subject) = (try reader.text(), try reader.text(), try reader.text())
        let body = try reader.bytes()
        let (params, headers) = (try reader.list(Attribute.self), try reader.list(Attribute.self))
        self.init(
            method: method, path: path, pattern: pattern, body: body,
            receivedUnixMs: try reader.number())
        self.query = query
        self.remote = remote
        self.params = params
        self.headers = headers
        clientCertificate = subject
    }
}

extension IngestResult: WireValue {
    func write(to writer: WireWriter) {
        writer.put(events)
        writer.put(changes)
        writer.put(rejects)
        writer.put(answer) {
            writer.put($0.status)
            writer.put($0.headers)
            writer.put($0.body)
        }
        writer.put(fault) { writer.put($0) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init()
        events = try reader.list()
        changes = try reader.list()
        rejects = try reader.list()
        answer = try reader.optional { reader throws(WireFault) in
            Answer(
                status: try reader.number(), headers: try reader.list(),
                body: try reader.bytes())
        }
        fault = try reader.optional { reader throws(WireFault) in try reader.value() }
    }
}

extension IngestResult.Reject: WireValue {
    func write(to writer: WireWriter) {
        writer.put(reason)
        writer.put(detail)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(reason: try reader.text(), detail: try reader.text())
    }
}

/// The receiver parses the data again to validate it.
extension BuiltContent: WireValue {
    func write(to writer: WireWriter) {
        writer.put(notification)
        writer.put(UInt32(targets.count))
        for target in targets {
            writer.put(UInt32(clamping: target.recipient))
            writer.put(target.badge != nil)
            writer.put(target.badge ?? 0)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let note = try reader.value(PushNotification.self)
        let data = note.data.isEmpty ? nil : JSONKinds.object(note.data)
        guard note.data.isEmpty || data != nil else {
            throw WireFault("the data of a notification is not a JSON object")
        }
        guard note.overrides.allSatisfy({ JSONKinds.isObjectOrEmpty($0.json) }) else {
            throw WireFault("an override is not a JSON object")
        }
        var targets: [Target] = []
        let count = try reader.count(least: 9)
        targets.reserveCapacity(count)
        for _ in 0..<count {
            let recipient = Int(try reader.number(UInt32.self))
            let hasBadge = try reader.flag()
            let badge = try reader.number(Int32.self)
            targets.append(Target(recipient: recipient, badge: hasBadge ? badge : nil))
        }
        self.init(notification: note, targets: targets, data: data)
    }
}

extension FanOut.Skip: WireValue {
    func write(to writer: WireWriter) {
        writer.put(UInt32(clamping: recipient))
        writer.put(reason)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(recipient: Int(try reader.number(UInt32.self)), reason: try reader.text())
    }
}

extension BuildResult: WireValue {
    func write(to writer: WireWriter) {
        writer.put(contents)
        writer.put(skips)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init()
        contents = try reader.list()
        skips = try reader.list()
    }
}

extension Filtered: WireValue {
    func write(to writer: WireWriter) {
        writer.put(parts)
        writer.put(drops)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init()
        parts = try reader.list()
        drops = try reader.list()
    }
}

/// The receiver parses the data again to validate it.
extension Filtered.Part: WireValue {
    func write(to writer: WireWriter) {
        writer.put(UInt32(recipients.count))
        for recipient in recipients { writer.put(UInt32(clamping: recipient)) }
        writer.put(data?.text)
        writer.put(notBeforeUnixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        var recipients: [Int] = []
        for _ in 0..<(try reader.count(least: 4)) {
            recipients.append(Int(try reader.number(UInt32.self)))
        }
        self.init(recipients: recipients)
        if let text = try reader.value(String?.self) {
            guard let parsed = JSONKinds.object(text) else {
                throw WireFault("the data of a filter is not a JSON object")
            }
            data = JSONText(text, parsed: parsed)
        }
        notBeforeUnixMs = try reader.number()
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
        switch try reader.number(UInt8.self) {
        case 0: self = .ready(try reader.value(), settled: try reader.list())
        case 1: self = .again(isRestarting: false)
        case 2: self = .failed(try reader.value())
        default: throw WireFault("there is no such answer to prepare")
        }
    }
}
