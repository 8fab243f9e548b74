package import CSignalbox
package import SignalboxCore
internal import SignalboxJSON

/// A plugin's structs as the core's types.
extension StructReader {
    /// A device; NULL is an empty one.
    func device(_ given: UnsafePointer<sbx_device>?) throws(StructFault) -> Device {
        guard let given else { return Device() }
        return Device(copying: try read(given))
    }

    /// A change that a plugin reports, or why its device is unusable; nil if it is malformed or plugins may not report it.
    func change(
        _ raw: sbx_change, nowUnixMs: UInt64
    ) throws(StructFault) -> Result<DeviceChange, Recipient.Fault>? {
        guard let kind = DeviceChange.Kind(rawValue: raw.kind) else { return nil }
        let change = DeviceChange(
            kind: kind, device: try device(raw.device),
            timeUnixMs: raw.time_unix_ms == 0 ? nowUnixMs : raw.time_unix_ms,
            reason: raw.reason.text)
        if let fault = change.device.fault { return .failure(fault) }
        return change.isSound ? .success(change) : nil
    }

    /// The paths that an instance serves.
    package func paths(
        _ first: UnsafePointer<sbx_ingest_path>, _ count: Int, stride: Int
    ) throws(StructFault) -> [IngestPath] {
        var paths: [IngestPath] = []
        for index in 0..<count {
            let path = try read(first, index, stride: stride)
            let methods = path.methods.text.split(separator: ",").map { String($0) }
            paths.append(IngestPath(pattern: path.pattern.text, methods: methods))
        }
        return paths
    }

    /// Events that an instance emits, or why they are refused.
    func events(
        _ first: UnsafePointer<sbx_event>, _ count: Int, stride: Int, source: String,
        limits: Limits, receivedUnixMs: UInt64
    ) throws(StructFault) -> Result<[Event], PluginFault> {
        guard count <= limits.eventsPerRequestMax else {
            return .failure(
                PluginFault(
                    .tooLarge, "\(count) events; at most \(limits.eventsPerRequestMax) at once"))
        }
        var events: [Event] = []
        events.reserveCapacity(count)
        for index in 0..<count {
            let raw = try read(first, index, stride: stride)
            guard raw.recipient_count <= limits.devicesPerEventMax else {
                return .failure(
                    PluginFault(
                        .tooLarge,
                        "event \(index) has \(raw.recipient_count) recipients; at most "
                            + "\(limits.devicesPerEventMax)"))
            }
            guard !raw.type.isEmpty else {
                return .failure(PluginFault(.invalid, "event \(index) has no type"))
            }
            let parsed = JSONKinds.object(raw.data.buffer)
            guard raw.data.isEmpty || parsed != nil else {
                return .failure(
                    PluginFault(.invalid, "the data of event \(index) is not a JSON object"))
            }
            var event = Event(
                source: source, type: raw.type.text, subject: raw.subject.text,
                dedupe: raw.dedupe.text,
                data: raw.data.isEmpty ? "{}" : parsed?.mended ?? raw.data.text,
                timeUnixMs: raw.time_unix_ms == 0 ? receivedUnixMs : raw.time_unix_ms,
                recipients: try recipients(of: raw), dedupeWindowMs: raw.dedupe_window_ms)
            event.parsed = parsed
            events.append(event)
        }
        return .success(events)
    }

    /// The recipients of an event.
    package func recipients(of event: sbx_event) throws(StructFault) -> [Recipient] {
        guard let first = event.recipients, event.recipient_count > 0 else { return [] }
        var recipients: [Recipient] = []
        recipients.reserveCapacity(event.recipient_count)
        for index in 0..<event.recipient_count {
            let raw = try read(first, index, stride: event.recipient_stride)
            recipients.append(
                Recipient(
                    device: try device(raw.device),
                    attributes: KeyValues.copy(raw.attributes, raw.attribute_count)))
        }
        return recipients
    }

    /// A content.
    func notification(
        _ given: UnsafePointer<sbx_notification>
    ) throws(StructFault) -> PushNotification {
        PushNotification(copying: try read(given))
    }
}

extension Outcome {
    /// Most bytes of an outcome's texts; `reason` is a metric's label, `detail` is for people.
    private static let reasonBytesMax = 128
    private static let detailBytesMax = 1_024

    /// The reason of an outcome of a kind that does not exist.
    package static let unknownKind = "plugin_bad_kind"

    /// A plugin's outcome for `item`; `faults` gets what is wrong with it. An unknown kind becomes a retry,
    /// and texts that are too long are cut.
    package init(settling item: UInt64, _ raw: sbx_outcome, faults: inout [String]) {
        guard let kind = Outcome.Kind(rawValue: raw.kind) else {
            faults.append("gave an outcome of the unknown kind \(raw.kind)")
            self.init(item: item, kind: .retry, reason: Self.unknownKind)
            return
        }
        func cut(_ text: sbx_str, _ name: String, _ bytesMax: Int) -> String {
            let whole = text.raw
            guard whole.count > bytesMax else { return text.text }
            faults.append("gave a \(name) of \(whole.count) bytes; at most \(bytesMax)")
            return String(decoding: whole.prefix(bytesMax), as: UTF8.self)
        }
        self.init(
            item: item, kind: kind, reason: cut(raw.reason, "reason", Self.reasonBytesMax))
        scope = Outcome.Scope(rawValue: raw.scope) ?? .item
        reconnect = raw.flags & SBX_OUTCOME_RECONNECT != 0
        suspectsToken = raw.flags & SBX_OUTCOME_SUSPECT != 0
        retryAfterMs = raw.retry_after_ms
        goneSinceUnixMs = raw.gone_since_unix_ms
        providerCode = raw.provider_code
        detail = cut(raw.detail, "detail", Self.detailBytesMax)
        providerID = cut(raw.provider_id, "provider_id", Self.detailBytesMax)
        newToken = raw.new_token.text
        credential = raw.credential.text
    }
}
