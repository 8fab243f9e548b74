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
        self.init(try reader.value(), try reader.value())
    }
}

/// An event as a plugin emits or gets it; the gateway's own id is not sent.
extension Event: WireValue {
    func write(to writer: WireWriter) {
        writer.put(source)
        writer.put(record: self)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let source = try reader.value(String.self)
        self = try reader.record()
        self.source = source
    }
}

extension DeviceChange: WireRecord {
    static let layout = WireLayout(
        { Self(kind: $0, device: $4, timeUnixMs: $1, reason: $2, subject: $3) },
        \.kind, \.timeUnixMs, \.reason, \.subject, \.device)
}

extension DeviceChange.Kind: WireValue {}
