internal import CSignalbox
internal import SignalboxCore

/// Events from the host.
enum Events {
    /// Copies the host's structs.
    static func read(
        _ start: UnsafePointer<sbx_event>?, _ count: Int, _ stride: Int
    ) -> [Event] {
        guard let start else { return [] }
        return (0..<count).map { index in
            let given = at(start, index, stride)
            let raw = known(given, given.pointee.struct_size, sbx_event())
            let data = raw.data.text
            var event = Event(
                type: raw.type.text, subject: raw.subject.text, dedupe: raw.dedupe.text,
                data: data.isEmpty ? "{}" : data, timeUnixMs: raw.time_unix_ms,
                recipients: (0..<raw.recipient_count).compactMap { place in
                    raw.recipients.map { recipient(at($0, place, raw.recipient_stride)) }
                })
            event.dedupeWindowMs = raw.dedupe_window_ms
            return event
        }
    }

    private static func recipient(_ given: UnsafePointer<sbx_recipient>) -> Recipient {
        let raw = known(given, given.pointee.struct_size, sbx_recipient())
        var out = Recipient(device: Device())
        out.attributes = attributes(raw.attributes, raw.attribute_count)
        guard let device = raw.device else { return out }
        let one = known(device, device.pointee.struct_size, sbx_device())
        out.device = Device(
            app: one.app.text, platform: one.platform.text, provider: one.provider.text,
            token: one.token.text, sourceToken: one.source_token.text, user: one.user.text,
            locale: one.locale.text, registeredUnixMs: one.registered_unix_ms,
            attributes: attributes(one.attributes, one.attribute_count))
        return out
    }

    private static func at<Element>(
        _ start: UnsafePointer<Element>, _ index: Int, _ stride: Int
    ) -> UnsafePointer<Element> {
        (UnsafeRawPointer(start) + index * stride).assumingMemoryBound(to: Element.self)
    }
}
