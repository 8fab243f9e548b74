internal import SignalboxCore

/// Types of the contract are sent as records, the same bytes as in the store.
extension WireValue where Self: RecordValue {
    func write(to writer: WireWriter) { writer.put(record: self) }

    init(from reader: inout WireReader) throws(WireFault) { self = try reader.record() }
}

extension Device: WireValue {}
extension Recipient: WireValue {}
extension PayloadOverride: WireValue {}
extension PushNotification: WireValue {}
extension DeliveryRecord: WireValue {}

extension Attribute: WireValue {
    func write(to writer: WireWriter) {
        writer.put(key)
        writer.put(value)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(try reader.text(), try reader.text())
    }
}

/// An event as a plugin emits or gets it; the gateway's own id is not sent.
extension Event: WireValue {
    func write(to writer: WireWriter) {
        writer.put(source)
        writer.put(record: self)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let source = try reader.text()
        self = try reader.record()
        self.source = source
    }
}

extension DeviceChange: WireValue {
    func write(to writer: WireWriter) {
        writer.put(kind.rawValue)
        writer.put(timeUnixMs)
        writer.put(reason)
        writer.put(subject)
        writer.put(device)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let kind = Kind(rawValue: try reader.number()) else {
            throw WireFault("there is no such kind of change")
        }
        let time = try reader.number(UInt64.self)
        let (reason, subject) = (try reader.text(), try reader.text())
        self.init(
            kind: kind, device: try reader.value(), timeUnixMs: time, reason: reason,
            subject: subject)
    }
}
