internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Events from the host.
enum Events {
    /// A host may be newer than this library: its structs may be longer than those that are known here.
    private static let structs = StructReader(minor: SBX_ABI_MINOR, hostMinor: 0) { _, _ in }

    /// Copies the host's structs; throws if a size or a stride does not hold what it must.
    static func read(
        _ start: UnsafePointer<sbx_event>?, _ count: Int, _ stride: Int
    ) throws(StructFault) -> [Event] {
        guard let start else { return [] }
        var events: [Event] = []
        events.reserveCapacity(count)
        for index in 0..<count {
            let raw = try structs.read(start, index, stride: stride)
            let data = raw.data.text
            var event = Event(
                type: raw.type.text, subject: raw.subject.text, dedupe: raw.dedupe.text,
                data: data.isEmpty ? "{}" : data, timeUnixMs: raw.time_unix_ms,
                recipients: try structs.recipients(of: raw))
            event.dedupeWindowMs = raw.dedupe_window_ms
            events.append(event)
        }
        return events
    }
}
